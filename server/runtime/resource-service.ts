import { CoreError, isCoreError } from '../lib/errors.ts'
import { isNestedDeeper } from '../lib/nesting.ts'
import type { KdsRole } from './kds-role.ts'
import { defaultPolicies } from '../model/default-policies.ts'
import type { Kind, Kinds } from '../model/kind.ts'
import { kumaTypes } from '../model/kuma-types.ts'
import { ORIGIN_LABEL, ZONE_LABEL } from '../model/origin.ts'
import { isReadableName } from '../model/readable-name.ts'
import { formatKey, type Resource, type ResourceDraft, type ResourceKey, type Version } from '../model/resource.ts'
import { fromRestForm, type RestForm, toRestForm } from '../model/rest-form.ts'
import { isSameStored } from '../store/json-value.ts'
import type { ResourceStore, Write } from '../store/resource-store.ts'

/** Meshes, policies and data planes, as operators read and write them. */
export interface ResourceService {
  list(query: {
    readonly type: string
    readonly mesh?: string | undefined
    readonly cursor?: string | undefined
    readonly limit: number
  }): Promise<{
    readonly items: readonly RestForm[]
    readonly nextCursor: string | null
  }>
  /** Throws `not_found`. */
  get(key: ResourceKey): Promise<RestForm>
  /**
   * Creates or updates. With `expectedVersion` only what still has it (`conflict` otherwise, `""` = only if it is not there). A new Mesh
   * gets its default policies with it. Throws `invalid` naming the field, `owner_missing`, `forbidden` for what is not ours to change.
   */
  apply(
    form: RestForm,
    options: { readonly expectedVersion?: string | undefined },
  ): Promise<{ readonly outcome: 'created' | 'updated' | 'unchanged'; readonly resource: RestForm }>
  /** Throws `not_found`, `conflict`, `forbidden`. */
  delete(key: ResourceKey, options: { readonly expectedVersion?: string | undefined }): Promise<void>
}

export interface ResourceServiceDeps {
  readonly store: Pick<ResourceStore, 'get' | 'list' | 'writeBatch' | 'delete'>
  readonly kinds: Kinds
  readonly role: KdsRole
}

const WRITER = 'operator'
/** No resource comes near it. */
const DEEPEST = 64
/** Written by Tidewatch itself: read only. */
const INTERNAL: ReadonlySet<string> = new Set(['Setting', 'SettingChange', 'Secret', 'GlobalSecret'])
/** Never shown: what is in them is not for pages and scripts. */
const HIDDEN: ReadonlySet<string> = new Set(['Secret', 'GlobalSecret'])

export function createResourceService({ store, kinds, role }: ResourceServiceDeps): ResourceService {
  return {
    async list({ type, mesh, cursor, limit }) {
      shownKind(type)
      const page = await store.list({ type, limit, ...(mesh !== undefined && { mesh }), ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(show), nextCursor: page.nextCursor ?? null }
    },
    async get(key) {
      shownKind(key.type)
      return show(await store.get(key))
    },
    async apply(form, { expectedVersion }) {
      const draft = toDraft(form)
      const present = await find(draft.key)
      checkVersion(draft.key, present, expectedVersion)
      if (present === undefined) return { outcome: 'created', resource: show(await create(draft)) }
      checkOurs(present)
      const next: Resource = { ...present, spec: draft.spec, labels: draft.labels ?? present.labels }
      if (isSameStored(next.spec, present.spec) && isSameStored(next.labels, present.labels))
        return { outcome: 'unchanged', resource: show(present) }
      const [result] = await store.writeBatch([{ kind: 'update', resource: next }], { writer: WRITER })
      if (result?.ok !== true) throw result?.error ?? new CoreError('internal', 'the store gave no answer')
      return { outcome: 'updated', resource: show(result.resource ?? (await store.get(draft.key))) }
    },
    async delete(key, { expectedVersion }) {
      writableKind(key.type)
      checkOurs(await store.get(key))
      await store.delete(key, { writer: WRITER, ...(expectedVersion !== undefined && { expectedVersion: expectedVersion as Version }) })
    },
  }

  async function create(draft: ResourceDraft): Promise<Resource> {
    const withIt = draft.key.type === 'Mesh' && wantsPolicies(draft.spec) ? defaultPolicies(draft.key.name) : []
    const writes: Write[] = [draft, ...withIt].map((each) => ({ kind: 'create', draft: each }))
    const [result] = await store.writeBatch(writes, { writer: WRITER })
    if (result?.ok !== true) throw result?.error ?? new CoreError('internal', 'the store gave no answer')
    return result.resource ?? (await store.get(draft.key))
  }

  async function find(key: ResourceKey): Promise<Resource | undefined> {
    try {
      return await store.get(key)
    } catch (error) {
      if (isCoreError(error, 'not_found')) return undefined
      throw error
    }
  }

  function toDraft(form: RestForm): ResourceDraft {
    const kind = writableKind(form.type)
    const { key, labels, spec } = fromRestForm(kind.scope === 'mesh' ? { mesh: 'default', ...form } : form, hasSpec(form.type))
    if (kind.scope === 'global' && key.mesh !== '')
      throw new CoreError('invalid', `mesh: a ${key.type} lives in no mesh, so it must be left out`, { details: { field: 'mesh' } })
    for (const field of ['mesh', 'name'] as const)
      if (!isReadableName(key[field]))
        throw new CoreError('invalid', `${field}: has spaces, control or invisible characters: leave them out`, { details: { field } })
    if (isNestedDeeper(form, DEEPEST))
      throw new CoreError('invalid', `the resource has more than ${DEEPEST} objects and lists in one another`)
    return { key, spec: kind.parseSpec(spec), ...(labels !== undefined && { labels }) }
  }

  function shownKind(type: string): Kind {
    const kind = kinds.get(type)
    if (kind !== undefined && !HIDDEN.has(type)) return kind
    if (kind !== undefined) throw new CoreError('forbidden', `${type} is kept from pages and scripts: it holds keys`, { details: { type } })
    throw new CoreError('invalid', `type: there is no resource type "${type}"; known: ${[...kinds.keys()].sort().join(', ')}`, {
      details: { field: 'type' },
    })
  }

  function writableKind(type: string): Kind {
    const kind = shownKind(type)
    if (INTERNAL.has(type) || type.endsWith('Insight'))
      throw new CoreError('forbidden', `${type} is written by Tidewatch alone and can only be read`, { details: { type } })
    if (role === 'zone' && !mayZoneWrite(type))
      throw new CoreError('forbidden', `a zone gets its ${type} from the global control plane: apply it there`, { details: { type } })
    return kind
  }

  /** What came from the other side is changed there: here the next sync would undo it. */
  function checkOurs({ key, labels }: Resource) {
    const origin = labels[ORIGIN_LABEL]
    if (role === 'zone' && origin === 'global')
      throw new CoreError('forbidden', `${formatKey(key)} comes from the global control plane: change it there`, { details: { key } })
    if (role !== 'zone' && origin === 'zone')
      throw new CoreError('forbidden', `${formatKey(key)} comes from zone ${labels[ZONE_LABEL] ?? 'unknown'}: change it there`, {
        details: { key },
      })
  }

  function show(resource: Resource): RestForm {
    return toRestForm(resource, hasSpec(resource.key.type))
  }
}

function checkVersion(key: ResourceKey, present: Resource | undefined, expected: string | undefined) {
  if (expected === undefined || expected === (present?.version ?? '')) return
  const what = present === undefined ? 'is not there any more' : `is at version ${present.version} now`
  throw new CoreError('conflict', `${formatKey(key)} ${what}: look at it again before you change it`, {
    details: {
      key,
      version: present?.version ?? null,
      ...(present !== undefined && {
        lostTo: {
          writer: present.writer.name,
          instance: present.writer.instance,
          version: present.version,
          at: present.modifiedAt,
          certainty: 'exact',
        },
      }),
    },
  })
}

/** Newer kinds keep their content under `spec`. */
function hasSpec(type: string): boolean {
  return withSpec.has(type)
}
const withSpec: ReadonlySet<string> = new Set(kumaTypes.filter(({ spec }) => spec === 'json').map(({ type }) => type))

/** Types that a zone may make itself, and its own data planes. */
function mayZoneWrite(type: string): boolean {
  return kumaTypes.some((each) => each.type === type && each.syncs !== 'down')
}

/** `skipCreatingInitialPolicies: ['*']` leaves them out. */
function wantsPolicies(spec: unknown): boolean {
  const skipped = (spec as { readonly skipCreatingInitialPolicies?: unknown } | undefined)?.skipCreatingInitialPolicies
  return !(Array.isArray(skipped) && skipped.length > 0)
}
