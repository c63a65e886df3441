import { describe, expect, it } from 'vitest'
import { isStale, liveStatusAt, STALE_AFTER_MS } from './live-status.ts'

describe('how current a page is', () => {
  it.each([
    [{ lastFrameAt: undefined, isLost: false }, { kind: 'connecting' }],
    [{ lastFrameAt: undefined, isLost: true }, { kind: 'connecting' }],
    [
      { lastFrameAt: 9_600, isLost: false },
      { kind: 'live', ageMs: 400 },
    ],
    [
      { lastFrameAt: 10_001 - STALE_AFTER_MS, isLost: false },
      { kind: 'live', ageMs: 4_999 },
    ],
    [
      { lastFrameAt: 10_000 - STALE_AFTER_MS, isLost: false },
      { kind: 'stale', ageMs: 5_000 },
    ],
    [
      { lastFrameAt: 9_600, isLost: true },
      { kind: 'reconnecting', ageMs: 400, isStale: false },
    ],
    [
      { lastFrameAt: 1_000, isLost: true },
      { kind: 'reconnecting', ageMs: 9_000, isStale: true },
    ],
  ] as const)('%j is %j', (facts, status) => expect(liveStatusAt(facts, 10_000)).toEqual(status))

  it('is stale when it was silent for too long, connected or not', () => {
    expect(isStale({ kind: 'connecting' })).toBe(false)
    expect(isStale({ kind: 'live', ageMs: 1 })).toBe(false)
    expect(isStale({ kind: 'stale', ageMs: 6_000 })).toBe(true)
    expect(isStale({ kind: 'reconnecting', ageMs: 400, isStale: false })).toBe(false)
    expect(isStale({ kind: 'reconnecting', ageMs: 6_000, isStale: true })).toBe(true)
  })
})
