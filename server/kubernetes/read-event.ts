import { type KubeObject, isRecord, objectNameOf, textIn, toKubeObject } from './kube-object.ts'
import { type KubeStatus, toKubeStatus } from './kube-status.ts'

/** One line of a watch. */
export type WatchLine =
  | { readonly kind: 'object'; readonly change: 'added' | 'modified' | 'deleted'; readonly object: KubeObject }
  /** Without `version` it says only that the server lives. */
  | { readonly kind: 'bookmark'; readonly version: string | undefined; readonly endsInitialEvents: boolean }
  | { readonly kind: 'error'; readonly status: KubeStatus }
  /** Cannot be read; what it seems to be, for people. */
  | { readonly kind: 'bad'; readonly what: string }

const CHANGES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const
const SHOWN = 80

export function readWatchLine(text: string): WatchLine {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'bad', what: `a line that is no JSON: ${shown(text)}` }
  }
  const type = textIn(value, 'type')
  const object = isRecord(value) ? value['object'] : undefined
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const read = toKubeObject(object)
      return read === undefined
        ? { kind: 'bad', what: `${type} of an object without name or version: ${nameOf(object)}` }
        : { kind: 'object', change: CHANGES[type], object: read }
    }
    case 'BOOKMARK': {
      const metadata = isRecord(object) ? object['metadata'] : undefined
      const version = textIn(metadata, 'resourceVersion')
      const annotations = isRecord(metadata) ? metadata['annotations'] : undefined
      return {
        kind: 'bookmark',
        version: version === '' ? undefined : version,
        endsInitialEvents: textIn(annotations, 'k8s.io/initial-events-end') === 'true',
      }
    }
    case 'ERROR': {
      const status = toKubeStatus(object)
      return status === undefined ? { kind: 'bad', what: `ERROR without a Status: ${shown(text)}` } : { kind: 'error', status }
    }
    case undefined:
    default:
      return { kind: 'bad', what: `an event of unknown type ${type ?? 'none'}: ${shown(text)}` }
  }
}

/** By which a person may find it, if anything. */
export function nameOf(object: unknown): string {
  const metadata = isRecord(object) ? object['metadata'] : undefined
  const name = textIn(metadata, 'name') ?? textIn(metadata, 'uid')
  const namespace = textIn(metadata, 'namespace')
  return name === undefined
    ? shown(JSON.stringify(object) ?? '')
    : objectNameOf({ name, ...(namespace === undefined ? {} : { namespace }) })
}

function shown(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text
}
