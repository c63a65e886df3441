import { describe, expect, it } from 'vitest'
import type { Counters, InsightRow, Key } from '../../server/model/views.ts'
import { createLiveStore } from './live-store.ts'

const keyOf = (name: string): Key => ({ type: 'DataplaneInsight', mesh: 'default', name })
const rowOf = (name: string) => ({ key: keyOf(name) }) as InsightRow
const countersOf = (insightsTotal: number) => ({ insightsTotal }) as Counters
const EPOCH = 1_700_000_000_000

function setUp() {
  const clock = { now: 1_000 }
  const store = createLiveStore({ now: EPOCH, counters: countersOf(1) }, () => clock.now)
  return { clock, store }
}

describe('what is live in a tab', () => {
  it('is what came with the page until the feed has begun', () => {
    const { store, clock } = setUp()
    expect(store.counters().insightsTotal).toBe(1)
    expect(store.status()).toEqual({ kind: 'connecting' })
    clock.now += 300
    expect(store.now()).toBe(EPOCH + 300)
  })

  it('is replaced by a snapshot, and what of its scope is not in it is gone', () => {
    const { store } = setUp()
    const scope = [keyOf('a'), keyOf('b')]
    let told = 0
    store.subscribeCounters(() => told++)
    store.take({ kind: 'snapshot', now: EPOCH, counters: countersOf(2), insights: [rowOf('a')] }, scope)
    expect(store.counters().insightsTotal).toBe(2)
    expect(told).toBe(1)
    expect(scope.map((key) => store.rows.get(key)?.isGone)).toEqual([false, true])
  })

  it('follows upserts and removals', () => {
    const { store } = setUp()
    store.take({ kind: 'upsert', now: EPOCH, key: 'counters', value: countersOf(7) }, [])
    store.take({ kind: 'upsert', now: EPOCH, key: keyOf('a'), value: rowOf('a') }, [])
    expect(store.counters().insightsTotal).toBe(7)
    expect(store.rows.get(keyOf('a'))).toEqual({ row: rowOf('a'), isGone: false })
    store.take({ kind: 'remove', now: EPOCH, key: keyOf('a') }, [])
    expect(store.rows.get(keyOf('a'))?.isGone).toBe(true)
  })

  it('goes by the clock of the server, and stands still when nothing more is heard', () => {
    const { store, clock } = setUp()
    store.take({ kind: 'tick', now: EPOCH + 60_000 }, [])
    expect(store.now()).toBe(EPOCH + 60_000)
    clock.now += 4_000
    expect(store.now()).toBe(EPOCH + 64_000)
    clock.now += 60_000
    expect(store.now()).toBe(EPOCH + 65_000)
    expect(store.lastNewsAt()).toBe(EPOCH + 60_000)
    expect(store.status()).toEqual({ kind: 'stale', ageMs: 64_000 })
  })

  it('says that the connection is lost until the next frame', () => {
    const { store, clock } = setUp()
    let told = 0
    store.subscribeStatus(() => told++)
    store.take({ kind: 'tick', now: EPOCH }, [])
    clock.now += 800
    store.lose()
    store.lose()
    expect(store.status()).toEqual({ kind: 'reconnecting', ageMs: 800, isStale: false })
    expect(told).toBe(2)
    store.take({ kind: 'tick', now: EPOCH + 800 }, [])
    expect(store.status()).toEqual({ kind: 'live', ageMs: 0 })
  })
})
