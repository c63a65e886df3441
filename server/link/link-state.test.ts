import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linkErrorClasses } from '../model/link-row.ts'
import { exponentialPolicy } from './link-policy.ts'
import { type LinkContext, linkDueAt, type LinkEvent, type LinkState, type LinkStep, nextLinkStep } from './link-state.ts'
import { plainPolicy } from './testing/scripted-connector.ts'

const NOW = 1_000_000
const policy = exponentialPolicy(plainPolicy)
const context: LinkContext = { now: NOW, roll: 0.5, policy, gateOpen: true }
const closed: LinkContext = { ...context, gateOpen: false }

const waiting = { kind: 'waiting', attempt: 3, cause: 'server', since: NOW - 100, roll: 0.5, notBefore: 0, until: NOW + 3_100 } as const
const states = {
  idle: { kind: 'idle' },
  connecting: { kind: 'connecting', failures: 3, cause: 'server', wellForMs: 0 },
  syncing: { kind: 'syncing', failures: 3, cause: 'server', wellForMs: 0, firstLiveAt: undefined },
  /** Live for 5 s: longer than the wait that led to it. */
  live: { kind: 'live', failures: 3, cause: 'server', wellForMs: 0, liveSince: NOW - 5_000, firstLiveAt: NOW - 5_000 },
  waiting,
  due: { ...waiting, until: NOW },
  'at the gate': { ...waiting, until: undefined },
  paused: { kind: 'paused' },
  stopped: { kind: 'stopped' },
} as const satisfies Record<string, LinkState>

const failure = { type: 'failed', class: 'forbidden', retryAfterMs: undefined, endpointDown: false, answered: true } as const
const events = {
  start: { type: 'start' },
  syncing: { type: 'syncing' },
  live: { type: 'live' },
  ended: { type: 'ended', events: 1 },
  failed: failure,
  down: { ...failure, class: 'network', endpointDown: true, answered: false },
  due: { type: 'due' },
  go: { type: 'go' },
  policy: { type: 'policy' },
  retryNow: { type: 'retryNow' },
  pause: { type: 'pause' },
  resume: { type: 'resume' },
  stop: { type: 'stop' },
} as const satisfies Record<string, LinkEvent>

const same = 'same'
const connect = 'connecting: connect'
const again = 'connecting: disconnect, connect'
const failed = 'waiting 6400: disconnect'
const reported = 'waiting gate: disconnect, report_down'
const idled = { start: same, syncing: same, live: same, ended: same, failed: same, down: same, due: same, go: same, policy: same }
/** What becomes of each state under each event: one that is missing does not compile. */
const table: Record<keyof typeof states, Record<keyof typeof events, string>> = {
  idle: { ...idled, start: connect, retryNow: same, pause: 'paused', resume: same, stop: 'stopped' },
  connecting: {
    start: same,
    syncing: 'syncing',
    live: 'live',
    ended: failed,
    failed,
    down: reported,
    due: same,
    go: same,
    policy: same,
    retryNow: again,
    pause: 'paused: disconnect, leave',
    resume: same,
    stop: 'stopped: disconnect, leave',
  },
  syncing: {
    start: same,
    syncing: same,
    live: 'live',
    ended: failed,
    failed,
    down: reported,
    due: same,
    go: same,
    policy: same,
    retryNow: again,
    pause: 'paused: disconnect, leave',
    resume: same,
    stop: 'stopped: disconnect, leave',
  },
  live: {
    start: same,
    syncing: 'syncing',
    live: same,
    ended: again,
    failed,
    down: reported,
    due: same,
    go: same,
    policy: same,
    retryNow: again,
    pause: 'paused: disconnect, leave',
    resume: same,
    stop: 'stopped: disconnect, leave',
  },
  waiting: { ...idled, retryNow: connect, pause: 'paused', resume: same, stop: 'stopped' },
  due: { ...idled, due: connect, policy: 'waiting 3100', retryNow: connect, pause: 'paused', resume: same, stop: 'stopped' },
  'at the gate': {
    ...idled,
    go: connect,
    retryNow: 'connecting: leave, connect',
    pause: 'paused: leave',
    resume: same,
    stop: 'stopped: leave',
  },
  paused: { ...idled, retryNow: connect, pause: same, resume: connect, stop: 'stopped' },
  stopped: { ...idled, retryNow: same, pause: same, resume: same, stop: same },
}

function describeStep(before: LinkState, { state, effects }: LinkStep): string {
  if (JSON.stringify(state) === JSON.stringify(before) && effects.length === 0) return same
  const kind = state.kind !== 'waiting' ? state.kind : `waiting ${state.until === undefined ? 'gate' : state.until - NOW}`
  return effects.length === 0 ? kind : `${kind}: ${effects.join(', ')}`
}

describe('the next step of a link', () => {
  for (const [name, state] of Object.entries(states) as [keyof typeof states, LinkState][]) {
    it(`from ${name} is decided for every event`, () => {
      const steps = Object.entries(events).map(([event, told]) => [event, describeStep(state, nextLinkStep(state, told, context))])
      expect(Object.fromEntries(steps)).toEqual(table[name])
    })
  }
})

const run = (from: LinkState, event: LinkEvent, at: Partial<LinkContext> = {}) => nextLinkStep(from, event, { ...context, ...at })

describe('a link', () => {
  it('waits 0.8 s, twice that each time, and 30 s at most', () => {
    const waits: number[] = []
    let state: LinkState = states.idle
    state = run(state, events.start).state
    for (let attempt = 0; attempt < 8; attempt++) {
      state = run(state, events.failed).state
      if (state.kind !== 'waiting' || state.until === undefined) throw new Error('it does not wait')
      waits.push(state.until - NOW)
      state = run(state, events.due, { now: state.until }).state
    }
    expect(waits).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
  })

  it('starts over only after 120 s of being live, not with the first good byte', () => {
    const after = (liveMs: number) => run({ ...states.live, liveSince: NOW - liveMs, firstLiveAt: NOW - liveMs }, events.failed).state
    expect(after(119_999)).toMatchObject({ kind: 'waiting', attempt: 4 })
    expect(after(120_000)).toMatchObject({ kind: 'waiting', attempt: 1, until: NOW + 800 })
  })

  it('may start over with the first success, if it is told to, but not before it had one', () => {
    const eager = { policy: exponentialPolicy({ ...plainPolicy, resetAfterMs: 0 }) }
    expect(run(states.connecting, events.failed, eager).state).toMatchObject({ attempt: 4 })
    expect(run(states.syncing, events.failed, eager).state).toMatchObject({ attempt: 4 })
    expect(run({ ...states.live, liveSince: NOW, firstLiveAt: NOW }, events.failed, eager).state).toMatchObject({ attempt: 1 })
  })

  it('adds up what it was live across clean ends, but not what it was not', () => {
    let state: LinkState = states.connecting
    for (let stream = 0; stream < 3; stream++) {
      const since = NOW + stream * 100_000
      state = run(state, events.live, { now: since + 40_000 }).state
      state = run(state, events.ended, { now: since + 90_000 }).state
    }
    // 3 times 50 s.
    expect(run(state, events.failed, { now: NOW + 300_000 }).state).toMatchObject({ attempt: 1 })
    const early = run(run(states.connecting, events.live, { now: NOW }).state, events.ended, { now: NOW + 50_000 }).state
    expect(run(early, events.failed, { now: NOW + 10_000_000 }).state).toMatchObject({ attempt: 4 })
  })

  it('takes a clean end for a failure when it lived less than a second without an event, or less than the wait before it', () => {
    const ended = (failures: number, livedMs: number, count: number) =>
      run({ ...states.live, failures, liveSince: NOW - livedMs, firstLiveAt: NOW - livedMs }, { type: 'ended', events: count })
    expect(ended(0, 999, 0)).toMatchObject({ closedEarly: true, state: { kind: 'waiting', attempt: 1, cause: 'closed_early' } })
    expect(ended(0, 999, 1).state.kind).toBe('connecting')
    expect(ended(0, 799, 1)).toMatchObject({ closedEarly: true })
    expect(ended(0, 1_000, 0).state.kind).toBe('connecting')
    expect(ended(5, 12_799, 9)).toMatchObject({ closedEarly: true, state: { attempt: 6, until: NOW + 25_600 } })
    expect(ended(5, 12_800, 9).state).toMatchObject({ kind: 'connecting', failures: 5 })
    expect(run(states.syncing, events.ended)).toMatchObject({ closedEarly: true })
  })

  it('does not come back before its peer said, however its policy changes', () => {
    const { state } = run(states.connecting, { ...failure, class: 'throttled', retryAfterMs: 20_000 })
    expect(linkDueAt(state)).toBe(NOW + 20_000)
    const quick = exponentialPolicy({ ...plainPolicy, maxBackoffMs: 1_000 })
    expect(linkDueAt(run(state, events.policy, { policy: quick }).state)).toBe(NOW + 20_000)
  })

  it('measures a wait under way anew when its policy changes, from where it began', () => {
    const quick = exponentialPolicy({ ...plainPolicy, baseBackoffMs: 100 })
    expect(linkDueAt(run(states.waiting, events.policy, { policy: quick }).state)).toBe(states.waiting.since + 400)
  })

  it('waits for the gate, not for a moment, when its endpoint is down or others queue for it', () => {
    expect(run(states.idle, events.start, closed)).toEqual({
      state: { kind: 'waiting', attempt: 0, cause: undefined, since: NOW, roll: 0.5, notBefore: NOW, until: undefined },
      effects: ['queue'],
    })
    expect(run(states.due, events.due, closed)).toMatchObject({ state: { kind: 'waiting', until: undefined }, effects: ['queue'] })
    expect(run(states.live, events.ended, closed)).toMatchObject({
      state: { kind: 'waiting', until: undefined },
      effects: ['disconnect', 'queue'],
    })
    expect(run(states.paused, events.resume, closed).effects).toEqual(['queue'])
    // An operator's word passes it.
    expect(run(states.paused, events.retryNow, closed).effects).toEqual(['connect'])
    expect(run(states['at the gate'], events.retryNow, closed).effects).toEqual(['leave', 'connect'])
  })

  it('blames the endpoint when that did not answer or broke off what had lived, itself when it is answered and broken off at once', () => {
    const broken = { ...events.down, answered: true }
    const brokenAfter = (livedMs: number) => run({ ...states.live, liveSince: NOW - livedMs, firstLiveAt: NOW - livedMs }, broken).effects
    expect(brokenAfter(5_000)).toEqual(['disconnect', 'report_down'])
    // Less than the 3.2 s that it had waited.
    expect(brokenAfter(3_000)).toEqual(['disconnect'])
    expect(run(states.syncing, broken).effects).toEqual(['disconnect'])
  })
})

describe('any sequence of events', () => {
  const anyEvent: fc.Arbitrary<LinkEvent> = fc.oneof(
    fc.constantFrom(...Object.values(events)),
    fc.record({
      type: fc.constant('failed' as const),
      class: fc.constantFrom(...linkErrorClasses),
      retryAfterMs: fc.option(fc.integer({ min: -5, max: 100_000 }), { nil: undefined }),
      endpointDown: fc.boolean(),
      answered: fc.boolean(),
    }),
  )
  const told = fc.tuple(anyEvent, fc.integer({ min: 0, max: 200_000 }), fc.double({ min: 0, max: 0.999, noNaN: true }), fc.boolean())
  const jittered = exponentialPolicy({ ...plainPolicy, jitter: true })

  it('keeps one attempt at most, keeps its place at the gate straight, and never waits longer than the cap or what the peer asked for', () => {
    fc.assert(
      fc.property(fc.array(told, { maxLength: 60 }), (sequence) => {
        let state: LinkState = states.idle
        let now = 0
        let isConnected = false
        let isQueued = false
        for (const [event, passedMs, roll, gateOpen] of sequence) {
          now += passedMs
          const step = nextLinkStep(state, event, { now, roll, policy: jittered, gateOpen })
          for (const effect of step.effects) {
            if (effect === 'connect') {
              expect(isConnected).toBe(false)
              isConnected = true
              // The gate calls who may go: it no longer waits there.
              if (event.type === 'go') isQueued = false
            }
            if (effect === 'disconnect') isConnected = false
            if (effect === 'queue' || effect === 'report_down') isQueued = true
            if (effect === 'leave') isQueued = false
          }
          state = step.state
          const isTrying = state.kind === 'connecting' || state.kind === 'syncing' || state.kind === 'live'
          expect(isConnected).toBe(isTrying)
          expect(isQueued).toBe(state.kind === 'waiting' && state.until === undefined)
          if (state.kind === 'waiting' && state.until !== undefined) {
            expect(state.until - state.since).toBeLessThanOrEqual(Math.max(30_000, state.notBefore - state.since))
            expect(state.until).toBeGreaterThanOrEqual(state.notBefore)
          }
        }
      }),
    )
  })

  it('ends in stopped when it is told to, for good', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), fc.array(anyEvent), (before, after) => {
        let state = before.reduce<LinkState>((from, event) => run(from, event).state, states.idle)
        state = run(state, events.stop).state
        expect(after.reduce<LinkState>((from, event) => run(from, event).state, state)).toEqual({ kind: 'stopped' })
      }),
    )
  })

  it('is live again once it is let: retry now and live from anywhere it was started', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), (before) => {
        const state = [events.start, ...before.filter(({ type }) => type !== 'stop')].reduce<LinkState>(
          (from, event) => run(from, event).state,
          states.idle,
        )
        expect(run(run(state, events.retryNow).state, events.live).state.kind).toBe('live')
      }),
    )
  })
})
