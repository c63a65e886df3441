import { describe, expect, it } from 'vitest'
import { type KeyString, toKeyString } from '../../server/model/resource.ts'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { createRowFetcher, MAX_ROWS } from './row-fetcher.ts'

const keysOf = (from: number, to: number): readonly Key[] =>
  Array.from({ length: to - from }, (_, index) => ({ type: 'DataplaneInsight', mesh: 'prod', name: `dp-${from + index}` }))
const rowOf = (key: Key) => ({ key }) as InsightRow
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

function setUp() {
  const asked: {
    readonly keys: readonly Key[]
    readonly signal: AbortSignal
    answer(rows: readonly InsightRow[]): void
    fail(error: Error): void
  }[] = []
  const known = new Set<KeyString>()
  const gone: Key[] = []
  const errors: unknown[] = []
  let timer: { readonly run: () => void; readonly ms: number } | undefined
  const fetcher = createRowFetcher({
    fetchRows: (keys, signal) =>
      new Promise((resolve, reject) => {
        asked.push({ keys, signal, answer: resolve, fail: reject })
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      }),
    isKnown: (key) => known.has(toKeyString(key)),
    onRows: (rows, missing) => {
      for (const key of [...rows.map((row) => row.key), ...missing]) known.add(toKeyString(key))
      gone.push(...missing)
    },
    onError: (error) => void errors.push(error),
    later(run, ms) {
      const mine = { run, ms }
      timer = mine
      return () => {
        if (timer === mine) timer = undefined
      }
    },
  })
  return {
    fetcher,
    asked,
    gone,
    errors,
    timer: () => timer,
    fire: () => {
      const due = timer
      timer = undefined
      due?.run()
    },
  }
}

describe('fetching the rows on screen', () => {
  it('asks once for all that is missing when the list comes to rest', async () => {
    const { fetcher, asked, fire, timer } = setUp()
    fetcher.want(keysOf(0, 40))
    fetcher.want(keysOf(10, 50))
    expect(asked).toHaveLength(0)
    fire()
    expect(asked.map(({ keys }) => keys)).toEqual([keysOf(10, 50)])
    asked[0]?.answer(keysOf(10, 50).map(rowOf))
    await settled()
    fetcher.want(keysOf(10, 50))
    expect(timer()).toBeUndefined()
  })

  it('never asks for more than 200 at a time', () => {
    const { fetcher, asked, fire } = setUp()
    fetcher.want(keysOf(0, 450))
    fire()
    expect(asked.map(({ keys }) => keys.length)).toEqual([MAX_ROWS, MAX_ROWS, 50])
  })

  it('does not ask again for what is on its way', () => {
    const { fetcher, asked, fire } = setUp()
    fetcher.want(keysOf(0, 40))
    fire()
    fetcher.want(keysOf(20, 60))
    fire()
    expect(asked.map(({ keys }) => keys)).toEqual([keysOf(0, 40), keysOf(40, 60)])
    expect(asked[0]?.signal.aborted).toBe(false)
  })

  it('cancels what was scrolled past, and asks again when it comes back', async () => {
    const { fetcher, asked, fire, errors } = setUp()
    fetcher.want(keysOf(0, 40))
    fire()
    fetcher.want(keysOf(1000, 1040))
    expect(asked[0]?.signal.aborted).toBe(true)
    fire()
    fetcher.want(keysOf(0, 40))
    fire()
    await settled()
    expect(asked.map(({ keys }) => keys[0]?.name)).toEqual(['dp-0', 'dp-1000', 'dp-0'])
    expect(errors).toEqual([])
  })

  it('says which rows are not there', async () => {
    const { fetcher, asked, gone, fire } = setUp()
    fetcher.want(keysOf(0, 3))
    fire()
    asked[0]?.answer(keysOf(0, 2).map(rowOf))
    await settled()
    expect(gone).toEqual(keysOf(2, 3))
  })

  it('tries again by itself after a failure', async () => {
    const { fetcher, asked, errors, fire, timer } = setUp()
    fetcher.want(keysOf(0, 3))
    fire()
    asked[0]?.fail(new Error('connection refused'))
    await settled()
    expect(errors).toHaveLength(1)
    expect(timer()?.ms).toBe(2000)
    fire()
    expect(asked).toHaveLength(2)
  })

  it('leaves nothing behind when stopped', () => {
    const { fetcher, asked, fire, timer } = setUp()
    fetcher.want(keysOf(0, 3))
    fire()
    fetcher.want(keysOf(0, 6))
    fetcher.stop()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(timer()).toBeUndefined()
  })
})
