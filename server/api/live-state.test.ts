import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type KeyString, toKeyString } from '../model/resource.ts'
import { insightKey } from './fake-control-plane.ts'
import {
  DRAINED_BELOW_BYTES,
  initialLiveState,
  type LiveLap,
  type LiveState,
  nextLiveStep,
  rowDueAt,
  STALL_ABOVE_BYTES,
} from './live-state.ts'

const row = toKeyString(insightKey('a'))
const lap = (changes: Partial<LiveLap> = {}): LiveLap => ({
  now: 0,
  bufferedBytes: 0,
  changed: new Set(),
  changedLinks: new Set(),
  countersRevision: null,
  ...changes,
})
const following: LiveState = { kind: 'following', tickedAt: 0, countedAt: 0, countedRevision: 1 }
const stalled: LiveState = { kind: 'stalled' }

describe('nextLiveStep', () => {
  const events = {
    'nothing changed': lap({ now: 250 }),
    'a row changed': lap({ now: 250, changed: new Set([row]) }),
    'a tick is due': lap({ now: 1_500 }),
    'little waits': lap({ now: 250, bufferedBytes: DRAINED_BELOW_BYTES }),
    'some waits': lap({ now: 250, bufferedBytes: DRAINED_BELOW_BYTES + 1 }),
    'too much waits': lap({ now: 250, bufferedBytes: STALL_ABOVE_BYTES + 1, changed: new Set([row]) }),
  } satisfies Record<string, LiveLap>
  type Outcome = `${LiveState['kind']}: ${'nothing' | 'snapshot' | 'delta'}`
  /** A state or an event that is not decided here does not compile. */
  const table: Record<LiveState['kind'], Record<keyof typeof events, Outcome>> = {
    snapshot: {
      'nothing changed': 'following: snapshot',
      'a row changed': 'following: snapshot',
      'a tick is due': 'following: snapshot',
      'little waits': 'following: snapshot',
      'some waits': 'following: snapshot',
      'too much waits': 'stalled: nothing',
    },
    following: {
      'nothing changed': 'following: nothing',
      'a row changed': 'following: delta',
      'a tick is due': 'following: delta',
      'little waits': 'following: nothing',
      'some waits': 'following: nothing',
      'too much waits': 'stalled: nothing',
    },
    stalled: {
      'nothing changed': 'following: snapshot',
      'a row changed': 'following: snapshot',
      'a tick is due': 'following: snapshot',
      'little waits': 'following: snapshot',
      'some waits': 'stalled: nothing',
      'too much waits': 'stalled: nothing',
    },
  }
  const states: Record<LiveState['kind'], LiveState> = { snapshot: initialLiveState, following, stalled }
  for (const [kind, outcomes] of Object.entries(table))
    for (const [event, outcome] of Object.entries(outcomes))
      it(`${kind}, ${event}: ${outcome}`, () => {
        const { state, work } = nextLiveStep(states[kind as LiveState['kind']], events[event as keyof typeof events])
        expect(`${state.kind}: ${work.kind}`).toBe(outcome)
      })

  it('sends counters twice a second while rows move and once a second while none does', () => {
    const moved = (now: number) => nextLiveStep(following, lap({ now, countersRevision: 2 })).work
    expect(moved(250)).toEqual({ kind: 'nothing' })
    expect(moved(500)).toMatchObject({ kind: 'delta', counters: true })
    const quiet = (now: number) => nextLiveStep(following, lap({ now, countersRevision: 1 })).work
    expect(quiet(750)).toEqual({ kind: 'nothing' })
    expect(quiet(1_000)).toMatchObject({ kind: 'delta', counters: true })
  })

  it('never sends counters that were not asked for', () => {
    expect(nextLiveStep(following, lap({ now: 5_000 })).work).toMatchObject({ counters: false })
  })

  it('ticks at least every 2 s to a reader that keeps up and never adds to what a slow one has not read', () => {
    const laps = fc.array(fc.record({ waitMs: fc.constant(250), bufferedBytes: fc.nat(2 * STALL_ABOVE_BYTES), isChanged: fc.boolean() }))
    fc.assert(
      fc.property(laps, (all) => {
        let state = nextLiveStep(initialLiveState, lap()).state
        let now = 0
        let lastSign = 0
        for (const { waitMs, bufferedBytes, isChanged } of all) {
          now += waitMs
          const wasStalled = state.kind === 'stalled'
          const step = nextLiveStep(state, lap({ now, bufferedBytes, changed: new Set<KeyString>(isChanged ? [row] : []) }))
          expect(bufferedBytes <= STALL_ABOVE_BYTES || step.work.kind === 'nothing').toBe(true)
          expect(!wasStalled || step.state.kind !== 'following' || step.work.kind === 'snapshot').toBe(true)
          if (step.work.kind === 'snapshot' || (step.work.kind === 'delta' && step.work.tick)) lastSign = now
          expect(step.state.kind !== 'following' || now - lastSign < 2_000).toBe(true)
          state = step.state
        }
      }),
    )
  })
})

describe('rowDueAt', () => {
  const pace = { gatherMs: 75, rowLapMs: 100 }
  const cases = [
    { what: 'was never sent', changedAt: 1_000, sentAt: undefined, dueAt: 1_075 },
    { what: 'was sent long ago', changedAt: 1_000, sentAt: 500, dueAt: 1_075 },
    { what: 'was sent just now', changedAt: 1_000, sentAt: 1_000, dueAt: 1_100 },
    { what: 'was sent a while ago', changedAt: 1_000, sentAt: 990, dueAt: 1_090 },
  ]
  for (const { what, changedAt, sentAt, dueAt } of cases)
    it(`a row that ${what} is due ${dueAt - changedAt} ms after it changed`, () => {
      expect(rowDueAt(changedAt, sentAt, pace)).toBe(dueAt)
    })
})
