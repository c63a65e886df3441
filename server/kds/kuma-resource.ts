import type { KumaResource__Output } from '../gen/kuma/mesh/v1alpha1/KumaResource.ts'
import { hashText } from '../discovery/discovery.ts'
import type { ResourceKey } from '../model/resource.ts'
import { toWireName } from './peer-name.ts'
import { KUMA_PACKAGE, type KdsProtos } from './protos.ts'
import type { SpecCodec, WireAny } from './spec-codec.ts'

/** A resource as one of the two ends knows it, before it is stored or after it was read. */
export interface SyncedResource {
  readonly key: ResourceKey
  readonly labels: Readonly<Record<string, string>>
  readonly spec: object
  /** As it came: the receiver keeps its own and sends none. */
  readonly status?: WireAny
}

/** A resource in a delta message: of one name and one version, as bytes. */
export interface WireResource {
  /** `<name>.<mesh>`. */
  readonly name: string
  /** Equal content has an equal version. */
  readonly version: string
  readonly any: WireAny
}

/** Between resources and the bytes that cross. */
export interface KumaResourceCodec {
  encode(resource: SyncedResource): WireResource
  /** Throws a TypeError that names the resource, as far as it can be read, and says what is wrong with it. */
  decode(type: string, any: WireAny): SyncedResource
}

const MESSAGE = `${KUMA_PACKAGE}.KumaResource`
const TYPE_URL = `type.googleapis.com/${MESSAGE}`

export function createKumaResourceCodec(protos: Pick<KdsProtos, 'message'>, specs: SpecCodec): KumaResourceCodec {
  const message = protos.message(MESSAGE)
  return {
    encode({ key, labels, spec, status }) {
      const meta = { name: key.name, ...(key.mesh !== '' && { mesh: key.mesh }), labels }
      const value = message.serialize({ meta, spec: plainAny(specs.encode(key.type, spec)), ...(status && { status: plainAny(status) }) })
      return { name: toWireName(key), version: hashText(value.toString('latin1')), any: { type_url: TYPE_URL, value } }
    },
    decode(type, { type_url, value }) {
      if (type_url !== TYPE_URL) throw new TypeError(`a resource of type ${type} crosses as ${TYPE_URL}, not as "${type_url}"`)
      const { meta, spec, status } = parse(type, value)
      if (meta === null || meta.name === '') throw new TypeError(`a resource of type ${type} came without a name`)
      const key = { type, mesh: meta.mesh, name: meta.name }
      try {
        const decoded = spec === null ? {} : specs.decode(spec)
        return { key, labels: meta.labels, spec: decoded, ...(status !== null && { status }) }
      } catch (error) {
        throw new TypeError(`${type} ${toWireName(key)} can't be read: ${(error as Error).message}`, { cause: error })
      }
    },
  }

  function parse(type: string, value: Buffer): KumaResource__Output {
    try {
      return message.deserialize(value) as KumaResource__Output
    } catch (error) {
      throw new TypeError(`a resource of type ${type} can't be read: ${(error as Error).message}`, { cause: error })
    }
  }
}

/** An empty field is an absent one on the wire. */
function plainAny({ type_url, value }: WireAny): Partial<WireAny> {
  return { ...(type_url !== '' && { type_url }), ...(value.length > 0 && { value }) }
}
