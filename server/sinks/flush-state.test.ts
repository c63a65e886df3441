import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  dueAt,
  type FlushState,
  nextHeartbeatAt,
  onChanged,
  onEnded,
  onHeartbeatMoved,
  onStarted,
  onUrged,
  openedState,
  pendingSince,
  phaseOf,
  type Tempo,
  toTempo,
} from './flush-state.ts'

const NOW = 10_000
const tempo: Tempo = { intervalMs: 1_000, backoffMs: 100, heartbeatMs: 50_000, batchWindowMs: 50 }
const HEARTBEAT = 40_000
const states = {
  urgent: { kind: 'urgent', notBefore: NOW + 300, changedAt: 9_000, heartbeatAt: HEARTBEAT },
  quiet: { kind: 'quiet', startedAt: 9_500, endedAt: 9_600, heartbeatAt: HEARTBEAT },
  waiting: { kind: 'waiting', startedAt: 9_500, endedAt: 9_600, heartbeatAt: HEARTBEAT, changedAt: 9_700 },
  flushing: { kind: 'flushing', startedAt: 9_900, heartbeatAt: HEARTBEAT, takenSince: 9_800, changedAt: undefined, isUrged: false },
} as const satisfies Record<FlushState['kind'], FlushState>
const events = {
  changed: (state: FlushState) => onChanged(state, NOW),
  urged: (state: FlushState) => onUrged(state, NOW),
  started: (state: FlushState) => onStarted(state, NOW),
  settled: (state: FlushState) => onEnded(state, 'settled', { now: NOW, heartbeatAt: 60_000 }),
  kept: (state: FlushState) => onEnded(state, 'kept', { now: NOW, heartbeatAt: 60_000 }),
  again: (state: FlushState) => onEnded(state, { againInMs: 200 }, { now: NOW, heartbeatAt: 60_000 }),
  heartbeatMoved: (state: FlushState) => onHeartbeatMoved(state, 70_000),
}

/** Every state under every event: one that is missing does not compile. */
const table: Record<FlushState['kind'], Record<keyof typeof events, FlushState>> = {
  urgent: {
    changed: states.urgent,
    urged: { ...states.urgent, notBefore: NOW },
    started: { kind: 'flushing', startedAt: NOW, heartbeatAt: HEARTBEAT, takenSince: 9_000, changedAt: undefined, isUrged: false },
    settled: states.urgent,
    kept: states.urgent,
    again: states.urgent,
    heartbeatMoved: { ...states.urgent, heartbeatAt: 70_000 },
  },
  quiet: {
    changed: { kind: 'waiting', startedAt: 9_500, endedAt: 9_600, heartbeatAt: HEARTBEAT, changedAt: NOW },
    urged: { kind: 'urgent', notBefore: NOW, changedAt: NOW, heartbeatAt: HEARTBEAT },
    started: { kind: 'flushing', startedAt: NOW, heartbeatAt: HEARTBEAT, takenSince: undefined, changedAt: undefined, isUrged: false },
    settled: states.quiet,
    kept: states.quiet,
    again: states.quiet,
    heartbeatMoved: { ...states.quiet, heartbeatAt: 70_000 },
  },
  waiting: {
    changed: states.waiting,
    urged: { kind: 'urgent', notBefore: NOW, changedAt: 9_700, heartbeatAt: HEARTBEAT },
    started: { kind: 'flushing', startedAt: NOW, heartbeatAt: HEARTBEAT, takenSince: 9_700, changedAt: undefined, isUrged: false },
    settled: states.waiting,
    kept: states.waiting,
    again: states.waiting,
    heartbeatMoved: { ...states.waiting, heartbeatAt: 70_000 },
  },
  flushing: {
    changed: { ...states.flushing, changedAt: NOW },
    urged: { ...states.flushing, isUrged: true, changedAt: NOW },
    started: states.flushing,
    settled: { kind: 'quiet', startedAt: 9_900, endedAt: NOW, heartbeatAt: 60_000 },
    kept: { kind: 'waiting', startedAt: 9_900, endedAt: NOW, heartbeatAt: HEARTBEAT, changedAt: 9_800 },
    again: { kind: 'urgent', notBefore: NOW + 200, changedAt: 9_800, heartbeatAt: HEARTBEAT },
    heartbeatMoved: { ...states.flushing, heartbeatAt: 70_000 },
  },
}

describe('the state of a flush', () => {
  for (const [kind, row] of Object.entries(table)) {
    for (const [event, expected] of Object.entries(row)) {
      it(`${kind}, ${event}: ${expected.kind}`, () =>
        expect(events[event as keyof typeof events](states[kind as FlushState['kind']])).toEqual(expected))
    }
  }

  it('that changed during a flush waits on with the newer change when it settled, and with the older when it was kept', () => {
    const flushing = onChanged(states.flushing, NOW - 50)
    expect(events.settled(flushing)).toMatchObject({ kind: 'waiting', changedAt: NOW - 50 })
    expect(events.kept(flushing)).toMatchObject({ kind: 'waiting', changedAt: 9_800 })
  })

  it('that was urged during a flush is urgent again at its end, whatever came of it', () => {
    for (const end of [events.settled, events.kept, events.again])
      expect(end(onUrged(states.flushing, NOW - 50))).toMatchObject({ kind: 'urgent', notBefore: NOW })
  })
})

describe('a due time', () => {
  it('is at once for a first flush, and none while one is under way', () => {
    expect(dueAt(openedState(NOW, HEARTBEAT), tempo)).toBe(NOW)
    expect(dueAt(states.flushing, tempo)).toBeUndefined()
    expect(dueAt(states.quiet, tempo)).toBe(HEARTBEAT)
  })

  const waiting = (startedAt: number, endedAt: number, changedAt: number): FlushState => ({
    kind: 'waiting',
    startedAt,
    endedAt,
    changedAt,
    heartbeatAt: HEARTBEAT,
  })
  it('is the latest of interval, backoff and batch window', () => {
    expect(dueAt(waiting(1_000, 1_010, 1_500), tempo)).toBe(2_000)
    expect(dueAt(waiting(1_000, 2_500, 1_500), tempo)).toBe(2_600)
    expect(dueAt(waiting(1_000, 1_010, 9_000), tempo)).toBe(9_050)
  })

  it('moves with the interval of the moment', () => {
    const state = waiting(1_000, 1_010, 1_500)
    expect(dueAt(state, { ...tempo, intervalMs: 10_000 })).toBe(11_000)
    expect(dueAt(state, { ...tempo, intervalMs: 100 })).toBe(1_550)
  })
})

describe('any course of changes, flushes and retunes', () => {
  const command = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3_000 }) }) },
    { weight: 5, arbitrary: fc.constant({ do: 'change' as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('retune' as const), intervalMs: fc.integer({ min: 100, max: 20_000 }) }) },
  )
  it('writes at most once per interval, and lets no change wait longer than the rule says', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), fc.integer({ min: 0, max: 400 }), (commands, storeMs) => {
        let now = 0
        let intervalMs = 1_000
        let state = openedState(0, Number.MAX_SAFE_INTEGER)
        const present = () => toTempo({ intervalMs, backoff: 'auto', idleTimeoutMs: 2 * Number.MAX_SAFE_INTEGER })
        let lastStart = Number.NEGATIVE_INFINITY
        /** Flushes all that falls due up to `until`, as the scheduler would. */
        const runUntil = (until: number) => {
          for (;;) {
            const due = dueAt(state, present())
            if (due === undefined || due > until) break
            now = Math.max(now, due)
            const waitedFrom = pendingSince(state)
            if (lastStart !== Number.NEGATIVE_INFINITY) expect(now - lastStart).toBeGreaterThanOrEqual(intervalMs)
            if (waitedFrom !== undefined && lastStart !== Number.NEGATIVE_INFINITY)
              expect(now - waitedFrom).toBeLessThanOrEqual(Math.max(intervalMs, storeMs + present().backoffMs, 50))
            lastStart = now
            state = onStarted(state, now)
            now += storeMs
            state = onEnded(state, 'settled', { now, heartbeatAt: Number.MAX_SAFE_INTEGER })
          }
          now = Math.max(now, until)
        }
        for (const each of commands) {
          if (each.do === 'wait') runUntil(now + each.ms)
          else if (each.do === 'change') state = onChanged(state, now)
          else {
            intervalMs = each.intervalMs
            // In full effect within one new interval: nothing that waits is due later than that.
            const due = dueAt(state, present())
            if (state.kind === 'waiting') expect(due! - now).toBeLessThanOrEqual(Math.max(intervalMs, storeMs + present().backoffMs, 50))
            lastStart = Number.NEGATIVE_INFINITY
          }
        }
      }),
    )
  })

  it('spreads heartbeats: the next is always later, at most a period on', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.integer({ min: 1_000, max: 2_000_000 }),
        fc.integer({ min: 0, max: 1e9 }),
        (phase, period, after) => {
          const next = nextHeartbeatAt(phase, period, after)
          expect(next).toBeGreaterThan(after)
          expect(next - after).toBeLessThanOrEqual(period + 1e-3)
        },
      ),
    )
    const phases = Array.from({ length: 1_000 }, (_, index) => phaseOf(`DataplaneInsight\0default\0dp-${index}`))
    for (let tenth = 0; tenth < 10; tenth++) {
      const inTenth = phases.filter((phase) => Math.floor(phase * 10) === tenth).length
      expect(inTenth).toBeGreaterThan(60)
      expect(inTenth).toBeLessThan(140)
    }
  })

  it('takes a tenth of the interval for a backoff that is not a number, and never more than the interval', () => {
    expect(toTempo({ intervalMs: 5_000, backoff: 'auto', idleTimeoutMs: 300_000 })).toMatchObject({ backoffMs: 500, heartbeatMs: 150_000 })
    expect(toTempo({ intervalMs: 5_000, backoff: 9_000, idleTimeoutMs: 300_000 }).backoffMs).toBe(5_000)
    expect(toTempo({ intervalMs: 5_000, backoff: 0, idleTimeoutMs: 300_000 }).backoffMs).toBe(0)
  })

  it('gathers changes for 50 ms, or for the interval where that is shorter', () => {
    expect(toTempo({ intervalMs: 50, backoff: 'auto', idleTimeoutMs: 300_000 }).batchWindowMs).toBe(50)
    expect(toTempo({ intervalMs: 49, backoff: 'auto', idleTimeoutMs: 300_000 }).batchWindowMs).toBe(49)
    expect(toTempo({ intervalMs: 0, backoff: 'auto', idleTimeoutMs: 300_000 }).batchWindowMs).toBe(0)
  })
})
