import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gatePolicy } from './endpoint-gate.ts'
import {
  gateDueAt,
  type GateEvent,
  type GateState,
  initialGateState,
  nextGateStep,
  PROBE_PATIENCE_MS,
  proberOf,
  STEADY_AFTER_MS,
} from './endpoint-gate-state.ts'
import { plainProbes } from './testing/scripted-connector.ts'

const policy = gatePolicy(plainProbes)
const NOW = 1_000_000
const down = {
  kind: 'down',
  since: NOW - 5_000,
  probes: 2,
  prober: undefined,
  waitingSince: NOW - 1_000,
  notBefore: 0,
  probeAt: NOW,
  queue: ['a', 'b'],
} as const
const states = {
  open: { kind: 'open', openedAt: NOW - 60_000, probes: 2 },
  down,
  probing: { ...down, prober: 'p' },
  ramping: { kind: 'ramping', openedAt: NOW - 100, probes: 2, nextAt: NOW, queue: ['a', 'b'] },
} as const satisfies Record<string, GateState>
const events = {
  'down by a': { type: 'down', link: 'a', retryAfterMs: 0 },
  'down by p': { type: 'down', link: 'p', retryAfterMs: 0 },
  'c queues': { type: 'queue', link: 'c' },
  'p is answered': { type: 'answered', link: 'p' },
  'a leaves': { type: 'leave', link: 'a' },
  'p leaves': { type: 'leave', link: 'p' },
  due: { type: 'due' },
  policy: { type: 'policy' },
} as const satisfies Record<string, GateEvent>

/** Every state under every event: one that is missing does not compile. Times are from now on. */
const table: Record<keyof typeof states, Record<keyof typeof events, string>> = {
  open: {
    'down by a': 'down at 500: a',
    'down by p': 'down at 500: p',
    'c queues': 'open, go c',
    'p is answered': 'open',
    'a leaves': 'open',
    'p leaves': 'open',
    due: 'open',
    policy: 'open',
  },
  down: {
    'down by a': 'down at 0: a b',
    'down by p': 'down at 0: a b p',
    'c queues': 'down at 0: a b c',
    'p is answered': 'ramping at 0: a b',
    'a leaves': 'down at 0: b',
    'p leaves': 'down at 0: a b',
    due: 'a probes: b, go a',
    policy: 'down at 280: a b',
  },
  probing: {
    'down by a': 'p probes: a b',
    'down by p': 'down at 1280: a b p',
    'c queues': 'p probes: a b c',
    'p is answered': 'ramping at 0: a b',
    'a leaves': 'p probes: b',
    'p leaves': 'down at 0: a b',
    due: 'p probes: a b',
    policy: 'p probes: a b',
  },
  ramping: {
    'down by a': 'down at 1280: a b',
    'down by p': 'down at 1280: a b p',
    'c queues': 'ramping at 0: a b c',
    'p is answered': 'ramping at 0: a b',
    'a leaves': 'ramping at 0: b',
    'p leaves': 'ramping at 0: a b',
    due: 'ramping at 10: b, go a',
    policy: 'ramping at 0: a b',
  },
}

function describeState(state: GateState): string {
  if (state.kind === 'open') return 'open'
  const queue = state.queue.join(' ')
  if (state.kind === 'ramping') return `ramping at ${state.nextAt - NOW}: ${queue}`
  return state.prober === undefined ? `down at ${state.probeAt - NOW}: ${queue}` : `${state.prober} probes: ${queue}`
}
const step = (state: GateState, event: GateEvent, now = NOW) => nextGateStep(state, event, { now, policy })

describe('the next step of a gate', () => {
  for (const [name, state] of Object.entries(states) as [keyof typeof states, GateState][]) {
    it(`from ${name} is decided for every event`, () => {
      const steps = Object.entries(events).map(([event, told]) => {
        const { state: after, go } = step(state, told)
        return [event, describeState(after) + (go.length > 0 ? `, go ${go.join(' ')}` : '')]
      })
      expect(Object.fromEntries(steps)).toEqual(table[name])
    })
  }
})

describe('a gate', () => {
  it('probes after 0.5 s, 1.6 times that each time, and 5 s at most, by one link after the other', () => {
    let state: GateState = step(initialGateState, { type: 'down', link: 'a', retryAfterMs: 0 }).state
    state = step(state, { type: 'down', link: 'b', retryAfterMs: 0 }).state
    const waits: number[] = []
    const probers: string[] = []
    for (let now = NOW, probe = 0; probe < 8; probe++) {
      const dueAt = gateDueAt(state)!
      waits.push(dueAt - now)
      now = dueAt
      const { state: probing, go } = step(state, { type: 'due' }, now)
      probers.push(...go)
      state = step(probing, { type: 'down', link: go[0]!, retryAfterMs: 0 }, now).state
    }
    expect(waits.map(Math.round)).toEqual([500, 800, 1_280, 2_048, 3_277, 5_000, 5_000, 5_000])
    expect(probers.join('')).toBe('abababab')
  })

  it('goes on with the waits it had when the endpoint was up for a moment only', () => {
    const open = { ...states.open, probes: 7 }
    const at = (openMs: number) => gateDueAt(step({ ...open, openedAt: NOW - openMs }, events['down by a']).state)! - NOW
    expect(at(STEADY_AFTER_MS - 1)).toBe(5_000)
    expect(at(STEADY_AFTER_MS)).toBe(500)
  })

  it('does not come back before the endpoint said', () => {
    const { state } = step(states.probing, { type: 'down', link: 'p', retryAfterMs: 30_000 })
    expect(gateDueAt(state)).toBe(NOW + 30_000)
    expect(gateDueAt(step(state, events.policy).state)).toBe(NOW + 30_000)
  })

  it('sends another probe when one hangs', () => {
    const sent = step(down, events.due).state
    expect(gateDueAt(sent)).toBe(NOW + PROBE_PATIENCE_MS)
    const { state, go } = step(sent, events.due, NOW + PROBE_PATIENCE_MS)
    expect([go, proberOf(state)]).toEqual([['b'], 'b'])
    // Nobody is left who could.
    expect(gateDueAt(state)).toBeUndefined()
    expect(step(state, { type: 'answered', link: 'a' }).state.kind).toBe('open')
  })

  it('opens when nobody waits any more', () => {
    const one = { ...down, queue: ['a'] }
    expect(step(one, events['a leaves']).state).toEqual({ kind: 'open', openedAt: NOW, probes: 2 })
    expect(step({ ...states.ramping, queue: ['a'] }, events.due).state.kind).toBe('open')
    expect(step({ ...states.probing, queue: [] }, events['p leaves']).state.kind).toBe('open')
  })

  it('names who probes, or will next', () => {
    expect(Object.values(states).map(proberOf)).toEqual([undefined, 'a', 'p', undefined])
  })

  it('whatever happens: one probes at most, nobody waits twice, nobody is forgotten', () => {
    const links = ['a', 'b', 'c', 'd']
    const move = fc.record({
      link: fc.constantFrom(...links),
      kind: fc.constantFrom('down', 'queue', 'answered', 'leave', 'time'),
      ms: fc.integer({ min: 0, max: 6_000 }),
    })
    fc.assert(
      fc.property(fc.array(move, { maxLength: 80 }), (moves) => {
        let state: GateState = initialGateState
        let now = 0
        const waiting = new Set<string>()
        const take = (event: GateEvent) => {
          const { state: after, go } = step(state, event, now)
          state = after
          for (const link of go) expect(waiting.delete(link)).toBe(true)
        }
        for (const { link, kind, ms } of moves) {
          now += ms
          for (let dueAt = gateDueAt(state); dueAt !== undefined && dueAt <= now; dueAt = gateDueAt(state)) take({ type: 'due' })
          if (kind === 'down' || kind === 'queue') waiting.add(link)
          if (kind === 'leave') waiting.delete(link)
          if (kind === 'down') take({ type: 'down', link, retryAfterMs: 0 })
          else if (kind !== 'time') take({ type: kind as 'queue', link })
          const queue = state.kind === 'open' ? [] : state.queue
          expect(queue.toSorted()).toEqual([...waiting].sort())
          if (state.kind === 'down') expect(state.prober === undefined || !queue.includes(state.prober)).toBe(true)
        }
        // Left alone with an endpoint that answers, all of them go.
        for (let turn = 0; waiting.size > 0 && turn < 20; turn++) {
          now = Math.max(now, gateDueAt(state) ?? now)
          const prober = state.kind === 'down' ? state.prober : undefined
          take(prober === undefined ? { type: 'due' } : { type: 'answered', link: prober })
        }
        expect(waiting.size).toBe(0)
      }),
    )
  })
})
