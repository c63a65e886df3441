import { describe, expect, it } from 'vitest'
import type { Counters, CountersGlance, InsightRow, Key } from '../../server/model/views.ts'
import { createLiveStore } from './live-store.ts'

const glance = (insightsTotal: number) => ({ insightsTotal }) as CountersGlance
const counters = (insightsTotal: number) => glance(insightsTotal) as Counters
const key = (name: string): Key => ({ type: 'DataplaneInsight', mesh: 'default', name })
const row = (name: string) => ({ key: key(name) }) as InsightRow

function createPage() {
  let monotonic = 1_000
  const store = createLiveStore({ now: 50_000, glance: glance(1) }, () => monotonic)
  return { store, pass: (ms: number) => (monotonic += ms) }
}

describe('the live store of a tab', () => {
  it('shows what came with the page until the feed has begun', () => {
    const { store } = createPage()
    expect(store.glance()).toEqual(glance(1))
    expect(store.status()).toEqual({ kind: 'connecting' })
    store.take({ kind: 'snapshot', now: 50_000, glance: glance(2) }, [])
    expect(store.glance()).toEqual(glance(2))
    expect(store.status()).toEqual({ kind: 'live', ageMs: 0 })
  })

  it('shows all counters at a glance too, and keeps what it has when a snapshot is without', () => {
    const { store } = createPage()
    store.take({ kind: 'snapshot', now: 50_000, counters: counters(2) }, [])
    expect(store.glance()).toEqual(counters(2))
    store.take({ kind: 'upsert', now: 50_000, key: 'counters', value: counters(3) }, [])
    store.take({ kind: 'snapshot', now: 50_000 }, [])
    expect(store.glance()).toEqual(counters(3))
  })

  it('takes what a snapshot of its scope leaves out for gone, and nothing outside of the scope', () => {
    const { store } = createPage()
    store.rows.put([row('a'), row('b'), row('elsewhere')])
    store.take({ kind: 'snapshot', now: 50_000, insights: [row('a')] }, [key('a'), key('b')])
    expect(['a', 'b', 'elsewhere'].map((name) => store.rows.get(key(name))?.isGone)).toEqual([false, true, false])
    store.take({ kind: 'upsert', now: 50_000, key: key('b'), value: row('b') }, [])
    store.take({ kind: 'remove', now: 50_000, key: key('a') }, [])
    expect(['a', 'b'].map((name) => store.rows.get(key(name))?.isGone)).toEqual([true, false])
  })

  it('is stale by the age of its last frame, and live again with the next', () => {
    const { store, pass } = createPage()
    store.take({ kind: 'tick', now: 50_000 }, [])
    pass(5_000)
    expect(store.status().kind).toBe('stale')
    store.lose()
    expect(store.status()).toEqual({ kind: 'reconnecting', ageMs: 5_000, isStale: true })
    store.take({ kind: 'tick', now: 55_000 }, [])
    expect(store.status()).toEqual({ kind: 'live', ageMs: 0 })
  })

  it('lets its clock stand still once it is stale, and goes by the first frame instead of the page when that is late', () => {
    const { store, pass } = createPage()
    expect(store.now()).toBe(50_000)
    pass(300)
    store.take({ kind: 'tick', now: 50_100 }, [])
    expect(store.now()).toBe(50_100)
    pass(4_000)
    expect(store.now()).toBe(54_100)
    pass(60_000)
    expect(store.now()).toBe(55_100)
    expect(store.lastNewsAt()).toBe(50_100)
  })

  it('tells each listener what is its own, until it leaves', () => {
    const { store } = createPage()
    const heard: string[] = []
    const ends = [store.subscribeGlance(() => heard.push('glance')), store.subscribeStatus(() => heard.push('status'))]
    store.take({ kind: 'tick', now: 50_000 }, [])
    store.take({ kind: 'upsert', now: 50_000, key: 'glance', value: glance(3) }, [])
    store.lose()
    store.lose()
    expect(heard).toEqual(['status', 'status', 'glance', 'status'])
    for (const end of ends) end()
    store.take({ kind: 'upsert', now: 50_000, key: 'counters', value: counters(4) }, [])
    expect(heard).toHaveLength(4)
  })
})
