import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DeltaDiscoveryRequest__Output } from '../../gen/envoy/service/discovery/v3/DeltaDiscoveryRequest.ts'
import type { DeltaDiscoveryResponse__Output } from '../../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import type { KdsProtos } from '../protos.ts'

/** A session between a real zone and a real global, message by message. */
export interface RecordedMessage {
  /** Seconds since its start. */
  readonly at: number
  readonly from: 'zone' | 'global'
  /** `down` is GlobalToZoneSync, `up` ZoneToGlobalSync. */
  readonly stream: 'down' | 'up'
  readonly type: string
  readonly request?: DeltaDiscoveryRequest__Output
  readonly response?: DeltaDiscoveryResponse__Output
}

interface Line {
  readonly t: number
  readonly s: number
  readonly open?: string
  readonly dir?: string
  readonly b?: string
  readonly message?: 'DeltaDiscoveryRequest' | 'DeltaDiscoveryResponse'
  readonly type?: string
}

export function readRecorded(version: '3.0' | '2.14', protos: Pick<KdsProtos, 'message'>): readonly RecordedMessage[] {
  const lines = readFileSync(join(import.meta.dirname, '..', 'recorded', `session-${version}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const methods = new Map(lines.flatMap(({ s, open }) => (open === undefined ? [] : [[s, open.split('/').at(-1)] as const])))
  return lines.flatMap((line): RecordedMessage[] => {
    const { t, s, dir, b, message, type = '' } = line
    const method = methods.get(s)
    if (message === undefined || b === undefined || (method !== 'GlobalToZoneSync' && method !== 'ZoneToGlobalSync')) return []
    const content = protos.message(`envoy.service.discovery.v3.${message}`).deserialize(Buffer.from(b, 'base64'))
    return [
      {
        at: t,
        from: dir === 'zone>global' ? 'zone' : 'global',
        stream: method === 'GlobalToZoneSync' ? 'down' : 'up',
        type,
        ...(message === 'DeltaDiscoveryRequest'
          ? { request: content as DeltaDiscoveryRequest__Output }
          : { response: content as DeltaDiscoveryResponse__Output }),
      },
    ]
  })
}
