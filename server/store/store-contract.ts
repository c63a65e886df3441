import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isCoreError } from '../lib/errors.ts'
import type { FakeClock } from '../lib/fake-clock.ts'
import type { LostTo, Resource, ResourceKey, Version } from '../model/resource.ts'
import type { ResourceChange, ResourceStore, Write } from './resource-store.ts'
import { CONTRACT_BACKLOG, CONTRACT_INSTANCE, contractKeys as keys } from './testing/contract-kinds.ts'
import { expectAgreement, modelBatches } from './testing/store-model.ts'

/** What an adapter can do beyond versions, conflicts, lists and changes. What it lacks must fail with `unsupported`, never be weaker in silence. */
export interface StoreCapabilities {
  readonly atomic: boolean
}

export interface StoreUnderTest {
  readonly store: ResourceStore
  /** The wall clock of the store. */
  readonly clock: Pick<FakeClock, 'jump'>
  /** Opens what was stored again, where it survives closing. */
  readonly reopen?: () => Promise<ResourceStore>
  dispose(): Promise<void>
}

const by = (writer: string) => ({ writer })
const one = by('one')

/** The one suite every store passes. It is to be made with what testing/contract-kinds.ts says. */
export function describeResourceStore(name: string, make: () => Promise<StoreUnderTest>, capabilities: StoreCapabilities): void {
  describe(`${name} as a resource store`, () => {
    let under: StoreUnderTest
    let store: ResourceStore
    beforeEach(async () => {
      under = await make()
      store = under.store
    })
    afterEach(() => under.dispose())

    const withParent = () => store.create({ key: keys.parent(), spec: {} }, one)
    const codeOf = async (work: Promise<unknown>) =>
      work.then(() => 'ok').catch((error: unknown) => (isCoreError(error) ? error.code : String(error)))

    describe('versions and conflicts', () => {
      it('gives back what was created, with a version, times and who wrote it', async () => {
        const created = await store.create({ key: keys.parent(), spec: { a: [1] }, labels: { tier: 'gold' }, status: { seen: true } }, one)
        expect(created).toMatchObject({
          key: keys.parent(),
          spec: { a: [1] },
          labels: { tier: 'gold' },
          status: { seen: true },
          writer: { name: 'one', instance: CONTRACT_INSTANCE },
        })
        expect(created.createdAt).toBe(created.modifiedAt)
        expect(await store.get(keys.parent())).toEqual(created)
      })

      it('gives each write another version and keeps when it was created', async () => {
        const first = await withParent()
        under.clock.jump(1_500)
        const second = await store.update({ ...first, spec: { n: 1 } }, by('two'))
        expect(second.version).not.toBe(first.version)
        expect(second).toMatchObject({
          createdAt: first.createdAt,
          modifiedAt: first.createdAt + 1_500,
          spec: { n: 1 },
          writer: { name: 'two' },
        })
        expect(await store.get(keys.parent())).toEqual(second)
      })

      it('refuses a write whose version is no longer current, and says exactly who won', async () => {
        const first = await withParent()
        under.clock.jump(-3_600_000)
        const winner = await store.update({ ...first, spec: { n: 1 } }, by('winner'))
        under.clock.jump(5_000)
        const lost: unknown = await store.update({ ...first, spec: { n: 2 } }, by('loser')).catch((error: unknown) => error)
        expect(isCoreError(lost, 'conflict')).toBe(true)
        const expected: LostTo = {
          writer: 'winner',
          instance: CONTRACT_INSTANCE,
          version: winner.version,
          at: winner.modifiedAt,
          certainty: 'exact',
        }
        expect((lost as { details: { lostTo: LostTo } }).details.lostTo).toEqual(expected)
        expect((await store.get(keys.parent())).spec).toEqual({ n: 1 })
      })

      it('keeps when it was created and whose it is, whatever an update says', async () => {
        await withParent()
        await store.create({ key: keys.parent('other'), spec: {} }, one)
        const created = await store.create({ key: keys.child(), spec: {} }, one)
        const changed = { ...created, createdAt: 1, modifiedAt: 1, owner: keys.parent('other'), writer: { name: 'x', instance: 'x' } }
        const updated = await store.update(changed, one)
        expect(updated).toMatchObject({ createdAt: created.createdAt, owner: keys.parent(), writer: created.writer })
        expect(await store.get(keys.child())).toEqual(updated)
        const { owner: _left, ...without } = updated
        expect((await store.update(without, one)).owner).toEqual(keys.parent())
      })

      it('takes versions as equal or not equal, never as numbers', async () => {
        const first = await withParent()
        for (const version of [`0${first.version}`, ` ${first.version}`, `${first.version}.0`, '', 'none'] as Version[])
          expect(await codeOf(store.update({ ...first, version }, one))).toBe('conflict')
      })

      it('lets exactly one of many writers with the same version win', async () => {
        const first = await withParent()
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, n) => codeOf(store.update({ ...first, spec: { n } }, by(`w${n}`)))),
        )
        expect(results.filter((result) => result === 'ok')).toHaveLength(1)
        expect(results.filter((result) => result === 'conflict')).toHaveLength(19)
      })

      it('lets all of many writers of different resources through', async () => {
        await withParent()
        const created = await Promise.all(
          Array.from({ length: 200 }, (_, n) => store.create({ key: keys.child(`c${n}`), spec: { n } }, by(`w${n}`))),
        )
        const updated = await Promise.all(created.map((resource) => store.update({ ...resource, spec: { again: true } }, one)))
        expect(new Set([...created, ...updated].map(({ version }) => version)).size).toBe(400)
      })

      it('never gives a deleted and recreated resource an old version', async () => {
        const seen = new Set<string>()
        for (let round = 0; round < 3; round++) {
          const { version } = await withParent()
          expect(seen.has(version)).toBe(false)
          seen.add(version)
          await store.delete(keys.parent(), one)
        }
      })

      it('refuses to update a recreated resource by the version of its predecessor', async () => {
        const first = await withParent()
        await store.delete(keys.parent(), one)
        await withParent()
        expect(await codeOf(store.update({ ...first, spec: { old: true } }, one))).toBe('conflict')
      })

      it('answers what is not there and what is there already by name', async () => {
        expect(await codeOf(store.get(keys.parent()))).toBe('not_found')
        expect(await codeOf(store.delete(keys.parent(), one))).toBe('not_found')
        const created = await withParent()
        await expect(store.create({ key: keys.parent(), spec: {} }, by('late'))).rejects.toMatchObject({
          code: 'already_exists',
          details: { lostTo: { writer: 'one', version: created.version, at: created.modifiedAt, certainty: 'exact' } },
        })
        await store.delete(keys.parent(), one)
        expect(await codeOf(store.update(created, one))).toBe('not_found')
      })

      it('deletes under the lock of an expected version only', async () => {
        const first = await withParent()
        const second = await store.update({ ...first, spec: { n: 1 } }, by('winner'))
        const lost: unknown = await store.delete(keys.parent(), { ...one, expectedVersion: first.version }).catch((error: unknown) => error)
        expect(lost).toMatchObject({ code: 'conflict', details: { lostTo: { writer: 'winner', version: second.version } } })
        await store.delete(keys.parent(), { ...one, expectedVersion: second.version })
        expect(await codeOf(store.get(keys.parent()))).toBe('not_found')
      })

      it('drops a status that an update leaves out, and keeps labels it is given', async () => {
        const first = await store.create({ key: keys.parent(), spec: {}, status: { s: 1 }, labels: { a: '1' } }, one)
        const { status: _left, ...rest } = first
        const second = await store.update(rest, one)
        expect(second.status).toBeUndefined()
        expect(second.labels).toEqual({ a: '1' })
        expect(await store.get(keys.parent())).toEqual(second)
      })
    })

    describe('keys', () => {
      const bad: Record<string, ResourceKey> = {
        'a type nobody declared': { type: 'Nothing', mesh: '', name: 'x' },
        'an empty name': keys.parent(''),
        'a name of 254 characters': keys.parent('x'.repeat(254)),
        'a NUL': keys.parent('a\u0000b'),
        'a control character': keys.parent('a\u0085b'),
        'half of a surrogate pair': keys.parent('a\ud800b'),
        'a mesh where the type has none': { type: 'Parent', mesh: 'm', name: 'x' },
        'no mesh where the type has one': { type: 'Child', mesh: '', name: 'x' },
      }
      for (const [what, key] of Object.entries(bad)) {
        it(`refuses ${what}, in reads and writes alike`, async () => {
          expect(await codeOf(store.get(key))).toBe('invalid')
          expect(await codeOf(store.create({ key, spec: {} }, one))).toBe('invalid')
          expect(await codeOf(store.delete(key, one))).toBe('invalid')
          expect(await store.writeBatch([{ kind: 'create', draft: { key, spec: {} } }], one)).toMatchObject([
            { ok: false, error: { code: 'invalid' } },
          ])
        })
      }

      it('takes names of any script, quotes and slashes as they are', async () => {
        await withParent()
        for (const odd of ["o'brien", 'a/b', '日本', 'ümläut', '%_', '__proto__', ' ']) {
          await store.create({ key: keys.child(odd), spec: { odd } }, one)
          expect((await store.get(keys.child(odd))).spec).toEqual({ odd })
        }
        expect((await store.list({ type: 'Child' })).items).toHaveLength(7)
      })
    })

    describe('ownership', () => {
      it('refuses to create what belongs to something that is not there', async () => {
        expect(await codeOf(store.create({ key: keys.child(), spec: {} }, one))).toBe('owner_missing')
      })

      it('refuses an owner that can not be right', async () => {
        await withParent()
        for (const owner of [{ type: 'Nothing', mesh: '', name: 'x' }, keys.parent(''), { type: 'Parent', mesh: 'm', name: 'm' }])
          expect(await codeOf(store.create({ key: keys.child(), spec: {}, owner }, one))).toBe('invalid')
      })

      it('gives a resource the owner its kind names, and its creator another if asked', async () => {
        await withParent()
        await store.create({ key: keys.parent('other'), spec: {} }, one)
        expect((await store.create({ key: keys.child('a'), spec: {} }, one)).owner).toEqual(keys.parent())
        expect((await store.create({ key: keys.child('b'), spec: {}, owner: keys.parent('other') }, one)).owner).toEqual(
          keys.parent('other'),
        )
        expect((await store.get(keys.child('b'))).owner).toEqual(keys.parent('other'))
        await store.delete(keys.parent('other'), one)
        expect((await store.list({ type: 'Child' })).items.map(({ key }) => key.name)).toEqual(['a'])
      })

      it('deletes what is owned, and what that owns', async () => {
        await withParent()
        await store.create({ key: keys.child(), spec: {} }, one)
        await store.create({ key: keys.grandchild(), spec: {} }, one)
        await store.delete(keys.parent(), one)
        expect(await codeOf(store.get(keys.child()))).toBe('not_found')
        expect(await codeOf(store.get(keys.grandchild()))).toBe('not_found')
      })

      it('keeps ownership over an update of the owner and of the owned', async () => {
        const owner = await withParent()
        const owned = await store.create({ key: keys.child(), spec: {} }, one)
        await store.update({ ...owner, spec: { n: 1 } }, one)
        expect((await store.update({ ...owned, spec: { n: 1 } }, one)).owner).toEqual(keys.parent())
        await store.delete(keys.parent(), one)
        expect((await store.list({ type: 'Child' })).items).toEqual([])
      })

      it('does not hang a new child on a deleted owner of the same name', async () => {
        await withParent()
        await store.create({ key: keys.child(), spec: {} }, one)
        await store.delete(keys.parent(), one)
        await withParent()
        expect((await store.list({ type: 'Child' })).items).toEqual([])
      })
    })

    describe('lists', () => {
      const fill = async (count: number) => {
        await withParent()
        await store.create({ key: keys.parent('n'), spec: {} }, one)
        for (let index = 0; index < count; index++) {
          const mesh = index % 2 === 0 ? 'm' : 'n'
          await store.create(
            {
              key: keys.child(`c${String(index).padStart(2, '0')}`, mesh),
              spec: { index },
              labels: { parity: index % 2 === 0 ? 'even' : 'odd', third: String(index % 3) },
            },
            one,
          )
        }
      }
      const namesOf = (items: readonly Resource[]) => items.map(({ key }) => `${key.mesh}/${key.name}`)

      it('hands out every resource of a type exactly once, page by page, in a stable order', async () => {
        await fill(11)
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const page = await store.list({ type: 'Child', limit: 3, ...(cursor !== undefined && { cursor }) })
          expect(page.items.length).toBeLessThanOrEqual(3)
          seen.push(...namesOf(page.items))
          cursor = page.nextCursor
        } while (cursor !== undefined)
        expect(seen).toEqual([...seen].sort())
        expect(new Set(seen).size).toBe(11)
      })

      it('shows what came and what went since the list before', async () => {
        await fill(2)
        const names = async () => namesOf((await store.list({ type: 'Child' })).items)
        expect(await names()).toEqual(['m/c00', 'n/c01'])
        await store.create({ key: keys.child('between', 'm'), spec: {} }, one)
        expect(await names()).toEqual(['m/between', 'm/c00', 'n/c01'])
        await store.delete(keys.parent('m'), one)
        expect(await names()).toEqual(['n/c01'])
      })

      it('gives no cursor with the last page, also when it is just full', async () => {
        await fill(4)
        const first = await store.list({ type: 'Child', limit: 2 })
        const second = await store.list({ type: 'Child', limit: 2, cursor: first.nextCursor! })
        expect(second.items).toHaveLength(2)
        expect(second.nextCursor).toBeUndefined()
      })

      it('goes on rightly when the item of the cursor was deleted meanwhile', async () => {
        await fill(6)
        const first = await store.list({ type: 'Child', limit: 2 })
        await store.delete(first.items[1]!.key, one)
        const second = await store.list({ type: 'Child', limit: 10, cursor: first.nextCursor! })
        expect(second.items).toHaveLength(4)
      })

      it('filters by mesh, by all labels given, and by keys', async () => {
        await fill(6)
        expect(namesOf((await store.list({ type: 'Child', mesh: 'n' })).items)).toEqual(['n/c01', 'n/c03', 'n/c05'])
        expect(namesOf((await store.list({ type: 'Child', labels: { parity: 'even', third: '1' } })).items)).toEqual(['m/c04'])
        expect(namesOf((await store.list({ type: 'Child', labels: { parity: 'neither' } })).items)).toEqual([])
        const wanted = [keys.child('c05', 'n'), keys.child('gone'), keys.child('c00')]
        expect(namesOf((await store.list({ type: 'Child', keys: wanted })).items)).toEqual(['m/c00', 'n/c05'])
      })

      it('pages through keys too, each once', async () => {
        await fill(6)
        const wanted = ['c05', 'c01', 'c03', 'c01'].map((name) => keys.child(name, 'n'))
        const first = await store.list({ type: 'Child', keys: wanted, limit: 2 })
        expect(namesOf(first.items)).toEqual(['n/c01', 'n/c03'])
        const second = await store.list({ type: 'Child', keys: wanted, limit: 2, cursor: first.nextCursor! })
        expect(namesOf(second.items)).toEqual(['n/c05'])
        expect(second.nextCursor).toBeUndefined()
        expect(namesOf((await store.list({ type: 'Child', keys: [keys.parent(), keys.child('c00')], mesh: 'n' })).items)).toEqual([])
      })

      it('does not take a label for what only an object has', async () => {
        await withParent()
        await store.create({ key: keys.child(), spec: {}, labels: { "it's": '"quoted"' } }, one)
        expect((await store.list({ type: 'Child', labels: { "it's": '"quoted"' } })).items).toHaveLength(1)
        expect((await store.list({ type: 'Child', labels: { constructor: 'x' } })).items).toEqual([])
      })

      it('refuses limits, cursors and types that can not be right', async () => {
        for (const limit of [0, -1, 1001, 1.5, Number.NaN]) expect(await codeOf(store.list({ type: 'Child', limit }))).toBe('invalid')
        for (const cursor of ['no cursor of ours', '', Buffer.from('a\0b\0c').toString('base64url')])
          expect(await codeOf(store.list({ type: 'Child', cursor }))).toBe('invalid')
        const tooMany = Array.from({ length: 1001 }, (_, index) => keys.child(`c${index}`))
        expect(await codeOf(store.list({ type: 'Child', keys: tooMany }))).toBe('invalid')
        expect(await codeOf(store.list({ type: 'Nothing' }))).toBe('invalid')
      })
    })

    describe('batches', () => {
      const create = (name: string): Write => ({ kind: 'create', draft: { key: keys.child(name), spec: { name } } })

      it('answers each write, and a failed one never hurts its neighbours', async () => {
        await withParent()
        const a = await store.create({ key: keys.child('a'), spec: {} }, one)
        await store.update({ ...a, spec: { n: 1 } }, by('winner'))
        const results = await store.writeBatch(
          [
            create('b'),
            { kind: 'update', resource: a },
            create('a'),
            { kind: 'create', draft: { key: keys.child('x', 'missing'), spec: {} } },
            { kind: 'delete', key: keys.child('gone') },
            create('d'),
          ],
          one,
        )
        expect(results.map((result) => (result.ok ? 'ok' : result.error.code))).toEqual([
          'ok',
          'conflict',
          'already_exists',
          'owner_missing',
          'not_found',
          'ok',
        ])
        expect(results[1]).toMatchObject({ error: { details: { lostTo: { writer: 'winner' } } } })
        expect((await store.list({ type: 'Child' })).items.map(({ key }) => key.name)).toEqual(['a', 'b', 'd'])
      })

      it('applies its writes in order', async () => {
        await withParent()
        const results = await store.writeBatch([create('a'), { kind: 'delete', key: keys.child('a') }, create('a')], one)
        expect(results.map(({ ok }) => ok)).toEqual([true, true, true])
        const last = results[2]!
        expect(last.ok && last.resource).toEqual(await store.get(keys.child('a')))
      })

      it('refuses one write that has no form in JSON, and stores its neighbours', async () => {
        await withParent()
        const results = await store.writeBatch(
          [create('a'), { kind: 'create', draft: { key: keys.child('b'), spec: 1n } }, create('c')],
          one,
        )
        expect(results.map((result) => (result.ok ? 'ok' : result.error.code))).toEqual(['ok', 'invalid', 'ok'])
        expect((await store.list({ type: 'Child' })).items.map(({ key }) => key.name)).toEqual(['a', 'c'])
      })

      it('takes an empty batch', async () => {
        expect(await store.writeBatch([], one)).toEqual([])
      })

      it.runIf(capabilities.atomic)('writes all or nothing when asked to', async () => {
        await withParent()
        const refused = await store.writeBatch([create('a'), create('a'), create('b')], { ...one, atomic: true })
        expect(refused.map((result) => (result.ok ? 'ok' : result.error.code))).toEqual(['aborted', 'already_exists', 'aborted'])
        expect((await store.list({ type: 'Child' })).items).toEqual([])
        const done = await store.writeBatch([create('a'), create('b')], { ...one, atomic: true })
        expect(done.map(({ ok }) => ok)).toEqual([true, true])
      })

      it.runIf(capabilities.atomic)('keeps what was there when an atomic batch with deletes fails', async () => {
        await withParent()
        const a = await store.create({ key: keys.child('a'), spec: { kept: true } }, one)
        await store.create({ key: keys.grandchild('a'), spec: {} }, one)
        await store.writeBatch([{ kind: 'delete', key: a.key }, create('b'), create('b')], { ...one, atomic: true })
        expect(await store.get(a.key)).toEqual(a)
        expect((await store.list({ type: 'Grandchild' })).items).toHaveLength(1)
        await store.delete(a.key, one)
        expect((await store.list({ type: 'Grandchild' })).items).toHaveLength(0)
      })

      it.runIf(capabilities.atomic)('writes nothing of an atomic batch with a write that is invalid', async () => {
        await withParent()
        const refused = await store.writeBatch([create('a'), { kind: 'delete', key: keys.child('') }], { ...one, atomic: true })
        expect(refused.map((result) => (result.ok ? 'ok' : result.error.code))).toEqual(['aborted', 'invalid'])
        expect((await store.list({ type: 'Child' })).items).toEqual([])
      })

      it.runIf(capabilities.atomic)('keeps atomic batches apart from what is written beside them', async () => {
        await withParent()
        const work = [
          store.writeBatch([create('a'), create('b')], one),
          store.writeBatch([create('c'), create('c')], { ...one, atomic: true }),
          store.writeBatch([create('d'), create('e')], { ...one, atomic: true }),
          store.writeBatch([create('f')], one),
        ]
        const results = (await Promise.all(work)).map((each) => each.map(({ ok }) => ok))
        expect(results).toEqual([[true, true], [false, false], [true, true], [true]])
        expect((await store.list({ type: 'Child' })).items.map(({ key }) => key.name)).toEqual(['a', 'b', 'd', 'e', 'f'])
      })

      it('does not start when its signal is aborted already', async () => {
        const signal = AbortSignal.abort()
        expect(await codeOf(store.writeBatch([create('a')], { ...one, signal }))).toBe('aborted')
        expect(await codeOf(store.get(keys.parent(), { signal }))).toBe('aborted')
        expect(await codeOf(store.list({ type: 'Child' }, { signal }))).toBe('aborted')
      })

      it('does not keep a caller who goes away, and goes on for the others', async () => {
        await withParent()
        const leaving = new AbortController()
        const left = codeOf(store.writeBatch([create('a')], { ...one, signal: leaving.signal }))
        const stayed = codeOf(store.writeBatch([create('b')], one))
        leaving.abort()
        expect(['ok', 'aborted']).toContain(await left)
        expect(await stayed).toBe('ok')
        await store.get(keys.child('b'))
      })
    })

    describe('changes', () => {
      const take = async (changes: AsyncIterator<ResourceChange>, count: number) => {
        const taken: ResourceChange[] = []
        while (taken.length < count) taken.push((await changes.next()).value)
        return taken
      }
      const brief = (change: ResourceChange) =>
        change.kind === 'put'
          ? `put ${change.resource.key.name} ${change.resource.version}`
          : change.kind === 'deleted'
            ? `deleted ${change.key.name} ${change.version}`
            : change.kind

      it('tells every reader all that changes from the call on, in order, cascaded deletes first to last', async () => {
        await withParent()
        const ending = new AbortController()
        const readers = [store.changes(ending.signal)[Symbol.asyncIterator](), store.changes(ending.signal)[Symbol.asyncIterator]()]
        const c = await store.create({ key: keys.child('c'), spec: {} }, one)
        const c2 = await store.update({ ...c, spec: { n: 1 } }, one)
        const g = await store.create({ key: keys.grandchild('c'), spec: {} }, one)
        await store.delete(c.key, one)
        for (const reader of readers) {
          const changes = await take(reader, 5)
          expect(changes.map(brief)).toEqual([
            `put c ${c.version}`,
            `put c ${c2.version}`,
            `put c ${g.version}`,
            `deleted c ${g.version}`,
            `deleted c ${c2.version}`,
          ])
        }
        ending.abort()
      })

      it('tells nothing of writes that were refused', async () => {
        const ending = new AbortController()
        const changes = store.changes(ending.signal)[Symbol.asyncIterator]()
        const first = await withParent()
        await codeOf(withParent())
        await codeOf(store.update({ ...first, version: 'other' as Version }, one))
        const last = await store.update({ ...first, spec: { n: 1 } }, one)
        expect((await take(changes, 2)).map(brief)).toEqual([`put m ${first.version}`, `put m ${last.version}`])
        ending.abort()
      })

      it.runIf(capabilities.atomic)('tells nothing of an atomic batch that was not written', async () => {
        await withParent()
        const ending = new AbortController()
        const changes = store.changes(ending.signal)[Symbol.asyncIterator]()
        const draft = { key: keys.child(), spec: {} }
        const twice: Write[] = [
          { kind: 'create', draft },
          { kind: 'create', draft },
        ]
        await store.writeBatch(twice, { ...one, atomic: true })
        const after = await store.create(draft, one)
        expect((await take(changes, 1)).map(brief)).toEqual([`put c ${after.version}`])
        ending.abort()
      })

      it('has told of a write by the time its writer goes on', async () => {
        const ending = new AbortController()
        const seen: string[] = []
        const changes = store.changes(ending.signal)[Symbol.asyncIterator]()
        const reading = changes.next().then(({ value }) => seen.push(brief(value as ResourceChange)))
        const created = await withParent()
        await reading
        expect(seen).toEqual([`put m ${created.version}`])
        ending.abort()
      })

      it('tells a reader that fell too far behind to read everything again, and then what follows', async () => {
        await withParent()
        const ending = new AbortController()
        const changes = store.changes(ending.signal)[Symbol.asyncIterator]()
        for (let index = 0; index <= CONTRACT_BACKLOG; index++) await store.create({ key: keys.child(`c${index}`), spec: {} }, one)
        const [resync] = await take(changes, 1)
        expect(resync).toEqual({ kind: 'resync' })
        const after = await store.create({ key: keys.child('after'), spec: {} }, one)
        expect((await take(changes, 1)).map(brief)).toEqual([`put after ${after.version}`])
        ending.abort()
      })

      it('lets a reader stop by itself', async () => {
        const ending = new AbortController()
        const changes = store.changes(ending.signal)
        await withParent()
        for await (const change of changes) {
          expect(change.kind).toBe('put')
          break
        }
        expect((await changes[Symbol.asyncIterator]().next()).done).toBe(true)
      })

      it('lets a reader finish what was told before the store closed', async () => {
        const changes = store.changes(new AbortController().signal)
        const created = await withParent()
        await store.close()
        const seen: string[] = []
        for await (const change of changes) seen.push(brief(change))
        expect(seen).toEqual([`put m ${created.version}`])
      })

      it('ends for a reader whose signal aborts, and for all when the store closes', async () => {
        const ending = new AbortController()
        const aborted = store.changes(ending.signal)[Symbol.asyncIterator]()
        const other = store.changes(new AbortController().signal)[Symbol.asyncIterator]()
        const waiting = aborted.next()
        const waitingToo = other.next()
        ending.abort()
        expect((await waiting).done).toBe(true)
        await store.close()
        expect((await waitingToo).done).toBe(true)
      })
    })

    describe('values', () => {
      it('are frozen all the way down, whichever way they came', async () => {
        await withParent()
        const created = await store.create({ key: keys.child(), spec: { list: [{ deep: 1 }] }, labels: { a: '1' } }, one)
        const listed = (await store.list({ type: 'Child' })).items[0]!
        for (const value of [created, await store.get(keys.child()), listed]) {
          const spec = value.spec as { list: { deep: number }[] }
          for (const part of [value, value.key, value.labels, value.spec, spec.list, spec.list[0]]) expect(Object.isFrozen(part)).toBe(true)
        }
      })

      it('do not change with what their giver still holds, not even while they are written', async () => {
        await withParent()
        const given = () => ({ spec: Object.freeze({ list: ['x'] }), labels: { a: '1' }, status: { s: [1] } })
        const spoil = ({ spec, labels, status }: ReturnType<typeof given>) => {
          spec.list.push('y')
          labels.a = '2'
          status.s.push(2)
        }
        const drafts = [given(), given(), given()] as const
        const key = { ...keys.child() }
        const creating = store.create({ key, ...drafts[0] }, one)
        spoil(drafts[0])
        key.name = 'spoilt'
        const created = await creating
        expect(created).toMatchObject({ key: keys.child(), spec: { list: ['x'] }, labels: { a: '1' }, status: { s: [1] } })
        expect(await store.get(keys.child())).toEqual(created)

        const updating = store.update({ ...created, ...drafts[1] }, one)
        const batch = store.writeBatch([{ kind: 'create', draft: { key: keys.child('d'), ...drafts[2] } }], one)
        spoil(drafts[1])
        spoil(drafts[2])
        await Promise.all([updating, batch])
        for (const name of ['c', 'd'])
          expect(await store.get(keys.child(name))).toMatchObject({ spec: { list: ['x'] }, labels: { a: '1' }, status: { s: [1] } })
      })

      it('are what can be read back: what JSON keeps', async () => {
        const created = await store.create({ key: keys.parent(), spec: { at: new Date(0), left: undefined, list: [undefined] } }, one)
        expect(created.spec).toStrictEqual({ at: '1970-01-01T00:00:00.000Z', list: [null] })
        expect((await store.get(keys.parent())).spec).toStrictEqual(created.spec)
        const again = under.reopen === undefined ? store : await store.close().then(under.reopen)
        expect((await again.get(keys.parent())).spec).toStrictEqual(created.spec)
      })
    })

    it('answers unavailable once it is closed', async () => {
      await store.close()
      expect(await codeOf(store.get(keys.parent()))).toBe('unavailable')
      expect(await codeOf(withParent())).toBe('unavailable')
      await store.close()
    })

    it('finishes the writes under way before it closes, and has them when opened again', async () => {
      await withParent()
      const writes = Array.from({ length: 30 }, (_, index) => codeOf(store.create({ key: keys.child(`c${index}`), spec: { index } }, one)))
      await store.close()
      expect(new Set(await Promise.all(writes))).toEqual(new Set(['ok']))
      if (under.reopen === undefined) return
      const again = await under.reopen()
      expect((await again.list({ type: 'Child', limit: 1000 })).items).toHaveLength(30)
    })

    it('agrees with a simple model over any sequence of batches, and its changes tell the same story', async () => {
      await fc.assert(
        fc.asyncProperty(modelBatches(capabilities), async (batches) => {
          const fresh = await make()
          try {
            await expectAgreement(fresh.store, batches)
          } finally {
            await fresh.dispose()
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}
