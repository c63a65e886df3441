import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import type { DataplaneInsight, MtlsStatus, Subscription } from '../model/insight.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import { tunables } from '../model/tunables.ts'
import type { Settings } from '../settings/settings.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createUpsert } from '../store/upsert.ts'
import { createConflictLedger, type SettledConflict } from '../telemetry/conflict-ledger.ts'
import { createDataplaneSink } from './dataplane-sink.ts'

const subject: ResourceKey = { type: 'Dataplane', mesh: 'default', name: 'web-1' }
const insight: ResourceKey = { ...subject, type: 'DataplaneInsight' }
const INTERVAL = 200
const silent = { debug() {}, info() {}, warn() {}, error() {} } as never

/** A store whose writes take their time, so that what was read may be overtaken before it is written. */
function slowed(store: ResourceStore, clock: FakeClock, delayMs: () => number): ResourceStore {
  return {
    ...store,
    create: (draft, options) => clock.sleep(delayMs()).then(() => store.create(draft, options)),
    update: (resource, options) => clock.sleep(delayMs()).then(() => store.update(resource, options)),
    writeBatch: (writes, options) => clock.sleep(delayMs()).then(() => store.writeBatch(writes, options)),
  }
}

function settingsOf(values: Readonly<Record<string, number>>) {
  const get = (key: keyof typeof tunables) => ({ version: '0', modifiedAt: null, value: values[key] ?? tunables[key].default })
  // The sink asks for these three alone.
  return { tunable: (key: keyof typeof tunables) => createTunable(get(key).value), get, recordEffect() {} } as unknown as Pick<
    Settings,
    'tunable' | 'get' | 'recordEffect'
  >
}

const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 4, arbitrary: fc.constant({ do: 'status' as const }) },
  { weight: 3, arbitrary: fc.constant({ do: 'renew' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reconnect' as const }) },
)

describe('the sink and a second writer of the same insight', () => {
  it('lose neither side’s fields in any interleaving, and every conflict ends as benign or harmful', async () => {
    let conflicts = 0
    const kinds = await loadKinds()
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 8, maxLength: 8 }),
        async (commands, delays) => {
          const clock = createFakeClock()
          let drawn = 0
          const plain = createMemoryStore({ clock, kinds, instance: 'i' })
          const store = slowed(plain, clock, () => delays[drawn++ % delays.length]!)
          await plain.create({ key: { type: 'Mesh', mesh: '', name: 'default' }, spec: {} }, { writer: 'test' })
          await plain.create({ key: subject, spec: { networking: { address: 'a', inbound: [], outbound: [] } } }, { writer: 'test' })

          const settled: SettledConflict[] = []
          let lost = 0
          const ledger = createConflictLedger({ clock, onSettledMetric: (conflict) => settled.push(conflict) })
          const counted: typeof ledger = {
            ...ledger,
            lost(record) {
              lost++
              ledger.lost(record)
            },
          }
          const settings = settingsOf({ 'sink.dataplane.flushIntervalMs': INTERVAL, 'upsert.baseBackoffMs': 20, 'upsert.maxTimes': 50 })
          const sink = createDataplaneSink({
            clock,
            store,
            settings,
            ledger: counted,
            board: { setPending() {} },
            instance: 'i',
            random: () => 0.5,
            log: silent,
            observer: { flushed() {}, lag() {}, attempts() {} },
          })
          const upsert = createUpsert({
            store,
            clock,
            random: () => 0.5,
            observer: {
              lost: ({ key, writer, lostTo }) => counted.lost({ key, writer, instance: 'i', lostTo, at: clock.now() }),
              done: ({ key, writer, result }) =>
                counted.written({ key, writer, instance: 'i', version: result.resource.version, at: clock.now() }),
              gaveUp: ({ key, writer }) => counted.gaveUp({ key, writer, at: clock.now() }),
            },
          })
          const ending = new AbortController()
          const running = sink.run(ending.signal)

          let connections = 0
          let acked = 0
          let renewals = 0
          const subscription = (): Subscription => ({
            id: `s${connections}`,
            instance: 'i',
            variant: 'delta',
            connectedAt: connections,
            generation: 0,
            types: { CDS: { sent: acked, acked, nacked: 0, lastAt: acked } },
          })
          const open = () => {
            connections++
            acked = 0
            return sink.open(subject, subscription())
          }
          let session = open()
          const background: Promise<unknown>[] = []
          const renew = () => {
            renewals++
            const mtls: MtlsStatus = {
              certificateExpiresAt: renewals,
              certificateRegeneratedAt: renewals,
              certificateRegenerations: renewals,
              issuedBackend: 'b',
            }
            const newest = (present: Resource<DataplaneInsight> | undefined): DataplaneInsight => {
              const spec = present?.spec ?? { subscriptions: [] }
              return (spec.mtls?.certificateRegenerations ?? 0) > mtls.certificateRegenerations ? spec : { ...spec, mtls }
            }
            background.push(
              upsert<DataplaneInsight>(insight, newest, {
                writer: 'identity',
                conflictRetry: { baseBackoffMs: 20, maxBackoffMs: 200, maxTimes: 50, jitterPercent: 0 },
              }),
            )
          }

          for (const each of commands) {
            if (each.do === 'wait') await clock.advance(each.ms)
            else if (each.do === 'renew') renew()
            else if (each.do === 'reconnect') {
              background.push(session.close({ ...subscription(), disconnectedAt: clock.now() }))
              session = open()
            } else {
              acked++
              session.update(subscription())
            }
          }
          await clock.advance(30_000)
          await Promise.all(background)

          const { spec } = await plain.get<DataplaneInsight>(insight)
          expect(spec.mtls?.certificateRegenerations ?? 0).toBe(renewals)
          const stored = spec.subscriptions.find(({ id }) => id === `s${connections}`)
          expect(stored).toMatchObject({ types: { CDS: { acked } } })
          expect(stored?.disconnectedAt).toBeUndefined()
          expect(settled).toHaveLength(lost)
          conflicts += lost

          ending.abort()
          await clock.advance(10_000)
          await running
          expect(clock.pending()).toBe(0)
        },
      ),
      { numRuns: 60 },
    )
    // The interleavings are such that they really meet.
    expect(conflicts).toBeGreaterThan(20)
  })
})
