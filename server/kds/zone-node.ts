import type { Metadata } from '@grpc/grpc-js'
import type { Node, Node__Output } from '../gen/envoy/config/core/v3/Node.ts'
import type { Struct, Struct__Output } from '../gen/google/protobuf/Struct.ts'
import { CoreError } from '../lib/errors.ts'
import type { ResourceKey } from '../model/resource.ts'

/** Which zone a stream belongs to, by the gRPC metadata it was opened with. */
export interface ZoneCaller {
  readonly name: string
  readonly subject: ResourceKey
  /** What it runs, for example `kuma-cp 2.14.3`. */
  readonly agent: string | undefined
}

/** What a zone says of itself in its requests. */
export interface ZoneNode {
  /** It wants names that never meet another zone's. */
  readonly hashSuffix: boolean
  /** Its whole configuration, as JSON. */
  readonly config: string | undefined
  /** What it runs, for example `kuma-cp 2.14.3`. */
  readonly agent: string | undefined
}

export const HASH_SUFFIX = 'hash-suffix'
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const LONGEST_CONFIG = 256 * 1024

/** Throws `invalid` when it does not say which zone it is. */
export function readCaller(metadata: Metadata): ZoneCaller {
  const [name] = metadata.get('client-id')
  if (typeof name !== 'string' || !NAME.test(name))
    throw new CoreError(
      'invalid',
      `a zone names itself in the gRPC metadata client-id, in lower case letters, digits, "-" and "."; ${name === undefined ? 'there was none' : `"${String(name).slice(0, 80)}" is not such a name`}`,
    )
  const [version] = metadata.get('version')
  const agent = typeof version === 'string' && version !== '' ? `kuma-cp ${version.slice(0, 60)}` : undefined
  return { name, subject: { type: 'Zone', mesh: '', name }, agent }
}

export function readZoneNode(node: Node__Output | null): ZoneNode {
  const fields = node?.metadata?.fields ?? {}
  const features = (fields['features']?.listValue?.values ?? []).map(({ stringValue }) => stringValue)
  const config = fields['config']?.stringValue
  return {
    hashSuffix: features.includes(HASH_SUFFIX),
    config: config === undefined || config === '' || config.length > LONGEST_CONFIG ? undefined : config,
    agent: agentOf(node?.user_agent_name, stringAt(fields['version']?.structValue, ['kumaCp', 'version'])),
  }
}

function agentOf(name: string | undefined, version: string | undefined): string | undefined {
  return version === undefined ? undefined : `${name === undefined || name === '' ? 'kuma-cp' : name} ${version}`.slice(0, 100)
}

function stringAt(struct: Struct__Output | null | undefined, [first, ...rest]: readonly string[]): string | undefined {
  const value = first === undefined ? undefined : struct?.fields?.[first]
  if (rest.length === 0) return value?.stringValue === '' ? undefined : value?.stringValue
  return stringAt(value?.structValue, rest)
}

/** What we say of ourselves in requests. */
export function ownNode(id: string, about: { readonly instance: string; readonly version: string; readonly config: string }): Node {
  const text = (stringValue: string) => ({ stringValue })
  const struct = (fields: NonNullable<Struct['fields']>) => ({ structValue: { fields } })
  return {
    id,
    user_agent_name: 'tidewatch',
    metadata: {
      fields: {
        config: text(about.config),
        'control-plane-id': text(about.instance),
        version: struct({ kumaCp: struct({ version: text(about.version) }) }),
        features: { listValue: { values: ['zone-token', HASH_SUFFIX].map(text) } },
      },
    },
  }
}
