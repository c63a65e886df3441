import { describe, expect, it } from 'vitest'
import { isStale, type LiveFacts, type LiveStatus, liveStatusAt } from './live-status.ts'

describe('how current a page is', () => {
  it.each<{ readonly name: string; readonly facts: LiveFacts; readonly now: number; readonly status: LiveStatus; readonly stale?: true }>([
    {
      name: 'connects before the first frame',
      facts: { lastFrameAt: undefined, isLost: false },
      now: 9_000,
      status: { kind: 'connecting' },
    },
    {
      name: 'connects while the first frame cannot come',
      facts: { lastFrameAt: undefined, isLost: true },
      now: 9_000,
      status: { kind: 'connecting' },
    },
    { name: 'is live with a frame', facts: { lastFrameAt: 1_000, isLost: false }, now: 1_400, status: { kind: 'live', ageMs: 400 } },
    { name: 'is live just before 5 s', facts: { lastFrameAt: 1_000, isLost: false }, now: 5_999, status: { kind: 'live', ageMs: 4_999 } },
    {
      name: 'is stale at 5 s, whatever the socket says',
      facts: { lastFrameAt: 1_000, isLost: false },
      now: 6_000,
      status: { kind: 'stale', ageMs: 5_000 },
      stale: true,
    },
    {
      name: 'says at once that it lost its connection',
      facts: { lastFrameAt: 1_000, isLost: true },
      now: 1_100,
      status: { kind: 'reconnecting', ageMs: 100, isStale: false },
    },
    {
      name: 'is stale while it reconnects',
      facts: { lastFrameAt: 1_000, isLost: true },
      now: 6_000,
      status: { kind: 'reconnecting', ageMs: 5_000, isStale: true },
      stale: true,
    },
  ])('$name', ({ facts, now, status, stale = false }) => {
    expect(liveStatusAt(facts, now)).toEqual(status)
    expect(isStale(liveStatusAt(facts, now))).toBe(stale)
  })
})
