import type { DataplaneInsight__Output } from '../gen/kuma/mesh/v1alpha1/DataplaneInsight.ts'
import { isNestedDeeper } from '../lib/nesting.ts'
import type { DataplaneInsight } from '../model/insight.ts'
import { fromWireInsight, toWireInsight } from './dataplane-insight-codec.ts'
import { KUMA_PACKAGE, type KdsProtos } from './protos.ts'

/** What an Any carries. */
export interface WireAny {
  readonly type_url: string
  readonly value: Buffer
}

/**
 * Between a spec as it crosses and a spec as it is stored. Newer types cross as JSON text in an Any without a type, older ones
 * as protobuf. What we could not write as we read it (fields we do not know, another notation) takes its bytes along under
 * `@wire`, so that it is passed on byte for byte; a message that we do not know at all is nothing but that.
 */
export interface SpecCodec {
  /** Throws a TypeError that says what is wrong with it. */
  decode(any: WireAny): object
  encode(type: string, spec: object): WireAny
}

/** How a spec, or a part of it, keeps the bytes it came in. */
interface Carried {
  readonly '@wire': { readonly type: string; readonly value: string }
}

const TYPE_PREFIX = 'type.googleapis.com/'
/** More levels than any policy has. */
const DEEPEST = 64
/** Types whose spec crosses as protobuf and that we read. */
const READ: ReadonlySet<string> = new Set(['Mesh', 'Dataplane', 'DataplaneInsight'])

export function createSpecCodec(protos: Pick<KdsProtos, 'message'>): SpecCodec {
  return {
    decode(any) {
      const spec = read(any)
      if (spec === undefined) return carried(any)
      const again = write(shortTypeOf(any.type_url) ?? '', spec)
      return again.type_url === any.type_url && again.value.equals(any.value) ? spec : { ...spec, ...carried(any) }
    },
    encode(type, spec) {
      if ('@wire' in spec) {
        const { type: url, value } = (spec as Carried)['@wire']
        return { type_url: url, value: Buffer.from(value, 'base64') }
      }
      return write(type, spec)
    },
  }

  function read({ type_url, value }: WireAny): object | undefined {
    if (type_url === '') return readJson(value)
    const type = shortTypeOf(type_url)
    if (type === undefined || !READ.has(type)) return undefined
    const content = protos.message(`${KUMA_PACKAGE}.${type}`).deserialize(value)
    return type === 'DataplaneInsight' ? fromWireInsight(content as DataplaneInsight__Output) : (withoutNothing(content) as object)
  }

  function write(type: string, spec: object): WireAny {
    if (!READ.has(type)) return { type_url: '', value: Buffer.from(toWireJson(spec)) }
    const name = `${KUMA_PACKAGE}.${type}`
    const content = type === 'DataplaneInsight' ? toWireInsight(spec as DataplaneInsight) : spec
    return { type_url: TYPE_PREFIX + name, value: protos.message(name).serialize(content) }
  }
}

function carried({ type_url, value }: WireAny): Carried {
  return { '@wire': { type: type_url, value: value.toString('base64') } }
}

function shortTypeOf(typeUrl: string): string | undefined {
  const prefix = `${TYPE_PREFIX}${KUMA_PACKAGE}.`
  return typeUrl.startsWith(prefix) ? typeUrl.slice(prefix.length) : undefined
}

function readJson(value: Buffer): object {
  if (value.length === 0) return {}
  const spec: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value))
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) throw new TypeError('its spec is JSON, but not an object')
  if (isNestedDeeper(spec, DEEPEST)) throw new TypeError(`its spec has more than ${DEEPEST} objects and lists in one another`)
  return spec
}

/** As real control planes write JSON: no space, and what could end a script is escaped. */
function toWireJson(spec: object): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(spec).replaceAll(/[<>&\u2028\u2029]/g, escape)
}

/** Protobuf does not tell what is absent from what is its zero: a stored spec names only what is there. */
function withoutNothing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNothing)
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  const kept = Object.entries(value).filter(
    ([, each]) =>
      each !== null && each !== '' && each !== 0 && each !== false && !(Array.isArray(each) && each.length === 0) && !isEmptyObject(each),
  )
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutNothing(each)]))
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
}
