import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LinkLane, LinkStretch } from '../model/link-row.ts'
import { addStretch, HISTORY_MS, lastHour, STRETCHES_KEPT } from './link-history.ts'

const lanes: readonly LinkLane[] = ['live', 'waiting', 'syncing', 'degraded', 'paused']

describe('the history of a link', () => {
  it('has a stretch for each change of lane', () => {
    let history: readonly LinkStretch[] = []
    for (const [at, lane] of [
      [1, 'syncing'],
      [2, 'live'],
      [3, 'live'],
      [9, 'waiting'],
    ] as const)
      history = addStretch(history, lane, at)
    expect(history).toEqual([
      { at: 1, lane: 'syncing' },
      { at: 2, lane: 'live' },
      { at: 9, lane: 'waiting' },
    ])
    expect(addStretch(history, 'waiting', 10)).toBe(history)
  })

  it('keeps what lasted when there is too much of it', () => {
    let history: readonly LinkStretch[] = [{ at: 0, lane: 'live' }]
    for (let flap = 0; flap < 200; flap++) {
      history = addStretch(history, 'waiting', 1_000_000 + flap * 100)
      history = addStretch(history, 'syncing', 1_000_000 + flap * 100 + 90)
    }
    expect(history.length).toBeLessThanOrEqual(STRETCHES_KEPT)
    expect(history[0]).toEqual({ at: 0, lane: 'live' })
  })

  it('is in order, bounded, without repeats, and ends with the present lane, whatever happens and however the clock jumps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...lanes), fc.integer({ min: 0, max: 10_000 })), { minLength: 1, maxLength: 200 }),
        (steps) => {
          let history: readonly LinkStretch[] = []
          for (const [lane, at] of steps) history = addStretch(history, lane, at)
          expect(history.length).toBeLessThanOrEqual(STRETCHES_KEPT)
          expect(history.at(-1)?.lane).toBe(steps.at(-1)![0])
          for (const [index, stretch] of history.entries()) {
            expect(stretch.lane).not.toBe(history[index - 1]?.lane)
            expect(stretch.at).toBeGreaterThan(history[index - 1]?.at ?? -1)
          }
        },
      ),
    )
  })

  it('shows the last hour, with what reaches into it', () => {
    const history: readonly LinkStretch[] = [
      { at: 0, lane: 'live' },
      { at: 10, lane: 'waiting' },
      { at: HISTORY_MS, lane: 'live' },
    ]
    expect(lastHour(history, HISTORY_MS + 9)).toEqual(history)
    expect(lastHour(history, HISTORY_MS + 10)).toEqual(history.slice(1))
    expect(lastHour(history, 3 * HISTORY_MS)).toEqual(history.slice(2))
  })
})
