import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NamedVersion, Present, Settled } from './discovery.ts'
import {
  openSotw,
  pushSotw,
  resyncSotw,
  type SotwContext,
  type SotwRequest,
  type SotwStep,
  type SotwTypeState,
  stepSotw,
} from './sotw-state.ts'

const BACKOFF = 5_000
type Versions = Readonly<Record<string, string>>

const request = (over: Partial<SotwRequest> = {}): SotwRequest => ({ names: [], nonce: '', rejection: undefined, ...over })
const presentOf = (versions: Versions): Present<NamedVersion> => {
  const own = new Map(Object.entries(versions).map(([name, version]) => [name, { name, version }]))
  return { own, find: (name) => own.get(name) }
}

/** Contexts of one stream: nonces are n1, n2, ... */
function streamOf(hasFullSet: boolean) {
  let made = 0
  return (versions: Versions, now = 0): SotwContext<NamedVersion> => ({
    present: presentOf(versions),
    now,
    nackBackoffMs: BACKOFF,
    nextNonce: () => `n${++made}`,
    hasFullSet,
  })
}
const sent = ({ response }: SotwStep<NamedVersion>) =>
  response?.resources
    .map(({ name, version }) => `${name}${version}`)
    .sort()
    .join(' ')

describe('one type of a state-of-the-world stream, every state and every event', () => {
  const A1 = { a: '1' }
  const A2 = { a: '2' }
  /** Endpoints, asked for as [a]. */
  const states = {
    /** a is not there, so nothing was said. */
    waiting: () => {
      const context = streamOf(false)
      return { context, nonce: 'n0', state: openSotw(request({ names: ['a'] }), context({})).state }
    },
    outstanding: () => {
      const context = streamOf(false)
      return { context, nonce: 'n1', state: openSotw(request({ names: ['a'] }), context(A1)).state }
    },
    synced: () => {
      const { context, state } = states.outstanding()
      return { context, nonce: 'n1', state: stepSotw(state, request({ names: ['a'], nonce: 'n1' }), context(A1)).state }
    },
    held: () => {
      const { context, state } = states.outstanding()
      return { context, nonce: 'n1', state: stepSotw(state, request({ names: ['a'], nonce: 'n1', rejection: 'bad' }), context(A1)).state }
    },
  }
  type State = keyof typeof states
  type Made = ReturnType<(typeof states)[State]>
  const events = {
    ack: ({ context, state, nonce }: Made) => stepSotw(state, request({ names: ['a'], nonce }), context(A1)),
    nack: ({ context, state, nonce }: Made) => stepSotw(state, request({ names: ['a'], nonce, rejection: 'bad' }), context(A1)),
    'an older nonce': ({ context, state }: Made) =>
      stepSotw(state, request({ names: ['a'], nonce: 'older', rejection: 'bad' }), context(A1)),
    'one name more, which is there': ({ context, state, nonce }: Made) =>
      stepSotw(state, request({ names: ['a', 'b'], nonce }), context({ ...A1, b: '1' })),
    'one name more, which is not there': ({ context, state, nonce }: Made) =>
      stepSotw(state, request({ names: ['a', 'x'], nonce }), context(A1)),
    'no names': ({ context, state, nonce }: Made) => stepSotw(state, request({ nonce }), context(A1)),
    'a push of the same': ({ context, state }: Made) => pushSotw(state, context(A1)),
    'a push of changed content': ({ context, state }: Made) => pushSotw(state, context(A2)),
    'a push in which it is gone': ({ context, state }: Made) => pushSotw(state, context({})),
    'a push after the deadline': ({ context, state }: Made) => pushSotw(state, context(A1, BACKOFF)),
    'a push that must be followed': ({ context, state }: Made) => pushSotw(state, context(A1), new Set(['a'])),
    resync: ({ context, state }: Made) => resyncSotw(state, context(A1)),
  }
  type Event = keyof typeof events

  /** [what is sent, what the request settled, refused now] */
  const expected: Record<State, Record<Event, readonly [sent: string | undefined, settled: Settled, refused: boolean]>> = {
    waiting: {
      ack: [undefined, 'stale', false],
      nack: [undefined, 'stale', false],
      'an older nonce': [undefined, 'stale', false],
      'one name more, which is there': ['a1 b1', 'stale', false],
      'one name more, which is not there': [undefined, 'stale', false],
      'no names': [undefined, 'stale', false],
      'a push of the same': ['a1', 'none', false],
      'a push of changed content': ['a2', 'none', false],
      'a push in which it is gone': [undefined, 'none', false],
      'a push after the deadline': ['a1', 'none', false],
      'a push that must be followed': ['a1', 'none', false],
      resync: ['a1', 'none', false],
    },
    outstanding: {
      ack: [undefined, 'ack', false],
      nack: [undefined, 'nack', true],
      'an older nonce': [undefined, 'stale', false],
      'one name more, which is there': ['a1 b1', 'ack', false],
      'one name more, which is not there': [undefined, 'ack', false],
      'no names': [undefined, 'ack', false],
      'a push of the same': [undefined, 'none', false],
      'a push of changed content': ['a2', 'none', false],
      'a push in which it is gone': [undefined, 'none', false],
      'a push after the deadline': [undefined, 'none', false],
      'a push that must be followed': ['a1', 'none', false],
      resync: ['a1', 'none', false],
    },
    synced: {
      // The nonce again settles nothing again.
      ack: [undefined, 'none', false],
      nack: [undefined, 'stale', false],
      'an older nonce': [undefined, 'stale', false],
      'one name more, which is there': ['a1 b1', 'none', false],
      'one name more, which is not there': [undefined, 'none', false],
      'no names': [undefined, 'none', false],
      'a push of the same': [undefined, 'none', false],
      'a push of changed content': ['a2', 'none', false],
      'a push in which it is gone': [undefined, 'none', false],
      'a push after the deadline': [undefined, 'none', false],
      'a push that must be followed': ['a1', 'none', false],
      resync: ['a1', 'none', false],
    },
    held: {
      ack: [undefined, 'none', true],
      nack: [undefined, 'stale', true],
      'an older nonce': [undefined, 'stale', true],
      'one name more, which is there': ['a1 b1', 'none', true],
      'one name more, which is not there': [undefined, 'none', true],
      'no names': [undefined, 'none', false],
      'a push of the same': [undefined, 'none', true],
      'a push of changed content': ['a2', 'none', true],
      'a push in which it is gone': ['', 'none', true],
      'a push after the deadline': ['a1', 'none', true],
      'a push that must be followed': ['a1', 'none', true],
      resync: ['a1', 'none', true],
    },
  }

  for (const state of Object.keys(states) as State[]) {
    for (const event of Object.keys(events) as Event[]) {
      const [sends, settled, refused] = expected[state][event]
      it(`${state}, on ${event}: ${sends === undefined ? 'sends nothing' : `sends "${sends}"`}`, () => {
        const step = events[event](states[state]())
        expect(sent(step)).toBe(sends)
        expect(step.settled).toBe(settled)
        expect(step.state.refusal !== undefined).toBe(refused)
      })
    }
  }
})

describe('a subscription', () => {
  const open = (names: readonly string[], versions: Versions, hasFullSet = true) => {
    const context = streamOf(hasFullSet)
    return { context, ...openSotw(request({ names }), context(versions)) }
  }
  const abc = { a: '1', b: '1', c: '1' }

  it('to clusters without names is to all of them, and each answer carries the full set', () => {
    const { context, ...step } = open([], abc)
    expect(sent(step)).toBe('a1 b1 c1')
    const { state } = stepSotw(step.state, request({ nonce: 'n1' }), context(abc))
    expect(sent(pushSotw(state, context({ ...abc, b: '2' })))).toBe('a1 b2 c1')
    expect(sent(pushSotw(state, context({ a: '1', c: '1' })))).toBe('a1 c1')
  })

  it('to all clusters is answered also when there are none: the peer waits for it', () => {
    expect(open([], {}).response?.resources).toEqual([])
  })

  it('to all that was implied stays when a name is added and taken away again', () => {
    const { context, state } = open([], abc)
    const named = stepSotw(state, request({ names: ['a'], nonce: 'n1' }), context(abc))
    expect(sent(named)).toBe('a1 b1 c1')
    const unnamed = stepSotw(named.state, request({ nonce: 'n2' }), context(abc))
    expect(sent(pushSotw(unnamed.state, context({ ...abc, c: '2' })))).toBe('a1 b1 c2')
  })

  it('to "*" ends when it is left out, and then only names count', () => {
    const { context, ...opened } = open(['*', 'a'], abc)
    expect(sent(opened)).toBe('a1 b1 c1')
    const { state, response } = stepSotw(opened.state, request({ names: ['a'], nonce: 'n1' }), context(abc))
    expect(response).toBeUndefined()
    expect(sent(pushSotw(state, context({ ...abc, b: '2' })))).toBeUndefined()
    expect(sent(pushSotw(state, context({ ...abc, a: '2' })))).toBe('a2')
  })

  it('to "*" that comes after names is answered with everything', () => {
    const { context, state } = open(['a'], abc)
    expect(sent(stepSotw(state, request({ names: ['a', '*'], nonce: 'n1' }), context(abc)))).toBe('a1 b1 c1')
  })

  for (const hasFullSet of [true, false]) {
    it(`given up by an empty list means that nothing more is sent (${hasFullSet ? 'clusters' : 'endpoints'})`, () => {
      const { context, state } = open(['a'], { a: '1' }, hasFullSet)
      const step = stepSotw(state, request({ nonce: 'n1' }), context({ a: '1' }))
      expect(step).toMatchObject({ settled: 'ack', response: undefined })
      for (const versions of [{ a: '1' }, { a: '2' }, {}]) expect(sent(pushSotw(step.state, context(versions)))).toBeUndefined()
    })
  }

  it('without a name is no news: what is left is not sent again', () => {
    const { context, state } = open(['a', 'b'], abc, false)
    const step = stepSotw(state, request({ names: ['a'], nonce: 'n1' }), context(abc))
    expect(sent(step)).toBeUndefined()
    expect(sent(pushSotw(step.state, context(abc)))).toBeUndefined()
  })

  it('to a new name is answered though the version of what was sent is the same', () => {
    const { context, state } = open(['a'], abc, false)
    const acked = stepSotw(state, request({ names: ['a'], nonce: 'n1' }), context(abc))
    expect(sent(stepSotw(acked.state, request({ names: ['a', 'b'], nonce: 'n1' }), context(abc)))).toBe('a1 b1')
  })

  it('counts also when its nonce is stale, which accepts and refuses nothing', () => {
    const { context, state } = open(['a'], abc, false)
    const pushed = pushSotw(state, context({ ...abc, a: '2' }))
    const step = stepSotw(pushed.state, request({ names: ['a', 'b'], nonce: 'n1', rejection: 'late' }), context({ ...abc, a: '2' }))
    expect(step.settled).toBe('stale')
    expect(step.state.refusal).toBeUndefined()
    expect(sent(step)).toBe('a2 b1')
  })

  it('in the first request of a stream is answered whatever version and nonce it brings from another one', () => {
    const context = streamOf(true)
    const step = openSotw(request({ nonce: 'old' }), context(abc))
    expect(step).toMatchObject({ settled: 'none', response: { nonce: 'n1' } })
  })
})

describe('a refusal', () => {
  const opened = () => {
    const context = streamOf(true)
    const { state } = openSotw(request(), context({ a: '1', b: '1' }))
    const acked = stepSotw(state, request({ nonce: 'n1' }), context({ a: '1', b: '1' }))
    const pushed = pushSotw(acked.state, context({ a: '1', b: '2' }))
    return { context, state: pushed.state }
  }

  it('is told by its error alone, and names what was new in what was refused', () => {
    const { context, state } = opened()
    const step = stepSotw(state, request({ nonce: 'n2', rejection: 'bad' }), context({ a: '1', b: '2' }))
    expect(step).toMatchObject({ settled: 'nack', state: { refusal: { reason: 'bad', names: ['b'] } } })
  })

  it('holds back unchanged content until its deadline, and lets changed content go at once', () => {
    const { context, state } = opened()
    const refused = stepSotw(state, request({ nonce: 'n2', rejection: 'bad' }), context({ a: '1', b: '2' }, 100)).state
    expect(sent(pushSotw(refused, context({ a: '1', b: '2' }, 99 + BACKOFF)))).toBeUndefined()
    expect(sent(pushSotw(refused, context({ a: '1', b: '2' }, 100 + BACKOFF)))).toBe('a1 b2')
    expect(sent(pushSotw(refused, context({ a: '1', b: '3' }, 101)))).toBe('a1 b3')
  })

  it('ends with the ACK of what came after it', () => {
    const { context, state } = opened()
    const refused = stepSotw(state, request({ nonce: 'n2', rejection: 'bad' }), context({ a: '1', b: '2' })).state
    const mended = pushSotw(refused, context({ a: '1', b: '3' }))
    expect(mended.state.refusal?.reason).toBe('bad')
    expect(stepSotw(mended.state, request({ nonce: 'n3' }), context({ a: '1', b: '3' })).state).toMatchObject({
      refusal: undefined,
      held: undefined,
    })
  })

  it('ends when nothing it may be about is asked for any more', () => {
    const context = streamOf(false)
    const { state } = openSotw(request({ names: ['a'] }), context({ a: '1', b: '1' }))
    const acked = stepSotw(state, request({ names: ['a'], nonce: 'n1' }), context({ a: '1', b: '1' }))
    const more = stepSotw(acked.state, request({ names: ['a', 'b'], nonce: 'n1' }), context({ a: '1', b: '1' }))
    const refused = stepSotw(more.state, request({ names: ['a', 'b'], nonce: 'n2', rejection: 'bad b' }), context({ a: '1', b: '1' }))
    expect(refused.state.refusal?.names).toEqual(['b'])
    const less = stepSotw(refused.state, request({ names: ['a'], nonce: 'n2' }), context({ a: '1', b: '1' }))
    expect(less.state).toMatchObject({ refusal: undefined, held: undefined })
    expect(sent(pushSotw(less.state, context({ a: '1', b: '1' }, 2 * BACKOFF)))).toBeUndefined()
  })

  it('is about what the peer had taken before, too, if it has not asked for it meanwhile', () => {
    const context = streamOf(false)
    const { state } = openSotw(request({ names: ['a'] }), context({ a: '1', b: '1' }))
    const acked = stepSotw(state, request({ names: ['a'], nonce: 'n1' }), context({ a: '1', b: '1' }))
    const none = stepSotw(acked.state, request({ names: [], nonce: 'n1' }), context({ a: '1', b: '1' }))
    const both = stepSotw(none.state, request({ names: ['a', 'b'], nonce: 'n1' }), context({ a: '1', b: '1' }))
    const refused = stepSotw(both.state, request({ names: ['a'], nonce: 'n2', rejection: 'bad' }), context({ a: '1', b: '1' }))
    expect(refused.state.refusal?.names).toEqual(['a', 'b'])
    expect(sent(pushSotw(refused.state, context({ a: '1', b: '1' })))).toBe('a1')
  })
})

describe('what the peer no longer asks for', () => {
  it('is sent again when it asks again, though it is what was sent last', () => {
    const context = streamOf(false)
    const { state } = openSotw(request({ names: ['a'] }), context({ a: '1' }))
    const none = stepSotw(state, request({ names: [], nonce: 'n1' }), context({}))
    const again = stepSotw(none.state, request({ names: ['a'], nonce: 'n1' }), context({}))
    expect(sent(pushSotw(again.state, context({ a: '1' })))).toBe('a1')
  })

  it('may have been refused together with the news that another is gone, which is told again at the deadline', () => {
    const context = streamOf(true)
    const { state } = openSotw(request({ names: ['a', 'b'] }), context({ a: '1' }))
    const acked = stepSotw(state, request({ names: ['a', 'b'], nonce: 'n1' }), context({ a: '1' }))
    const pushed = pushSotw(acked.state, context({ b: '1' }))
    const less = stepSotw(pushed.state, request({ names: ['a'], nonce: 'n1' }), context({ b: '1' }))
    expect(sent(less)).toBeUndefined()
    const refused = stepSotw(less.state, request({ names: ['a'], nonce: 'n2', rejection: 'bad b' }), context({ b: '1' }))
    expect(sent(pushSotw(refused.state, context({ b: '1' }, BACKOFF)))).toBe('')
  })
})

describe('any client that keeps to the rules', () => {
  const names = ['a', 'b', 'c']
  const content = fc.dictionary(fc.constantFrom(...names), fc.constantFrom('1', '2', '3'))
  const command = fc.oneof(
    fc.record({ kind: fc.constant('content' as const), content }),
    fc.record({ kind: fc.constant('answer' as const), refuse: fc.boolean() }),
    fc.record({ kind: fc.constant('subscribe' as const), names: fc.subarray(names) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 8_000 }) }),
    fc.record({ kind: fc.constant('resync' as const) }),
  )

  for (const hasFullSet of [true, false]) {
    it(`ends up with exactly what it asks for, is never answered for ever, and gets each nonce once (${hasFullSet ? 'clusters' : 'endpoints'})`, () => {
      fc.assert(
        fc.property(content, fc.subarray(names), fc.array(command, { maxLength: 30 }), (start, first, commands) => {
          const context = streamOf(hasFullSet)
          const nonces = new Set<string>()
          const inbox: { readonly nonce: string; readonly resources: readonly NamedVersion[] }[] = []
          let versions: Versions = start
          let now = 0
          let subscribed = first
          const isImplied = hasFullSet && first.length === 0
          let accepted: Versions = {}
          let lastNonce = ''
          const take = (step: SotwStep<NamedVersion>): SotwTypeState => {
            if (step.response !== undefined) {
              expect(nonces.has(step.response.nonce)).toBe(false)
              nonces.add(step.response.nonce)
              inbox.push(step.response)
            }
            return step.state
          }
          let state = take(openSotw(request({ names: first }), context(versions)))
          const answer = (refuse: boolean) => {
            const response = inbox.shift()
            if (response === undefined) return false
            lastNonce = response.nonce
            if (!refuse) {
              const asked = response.resources.filter(({ name }) => isImplied || subscribed.includes(name))
              const received = Object.fromEntries(asked.map(({ name, version }) => [name, version]))
              accepted = hasFullSet ? received : { ...accepted, ...received }
            }
            const rejection = refuse ? 'no' : undefined
            state = take(stepSotw(state, request({ names: subscribed, nonce: lastNonce, rejection }), context(versions, now)))
            return true
          }
          for (const each of commands) {
            if (each.kind === 'content') versions = each.content
            if (each.kind === 'wait') now += each.ms
            if (each.kind === 'answer') answer(each.refuse)
            if (each.kind === 'resync') state = take(resyncSotw(state, context(versions, now)))
            if (each.kind === 'subscribe') {
              subscribed = each.names
              // What a client no longer asks for, it forgets.
              accepted = Object.fromEntries(Object.entries(accepted).filter(([name]) => isImplied || subscribed.includes(name)))
              state = take(stepSotw(state, request({ names: subscribed, nonce: lastNonce }), context(versions, now)))
            }
            state = take(pushSotw(state, context(versions, now)))
          }
          // From here on it accepts everything, and nothing changes any more.
          let rounds = 0
          for (;;) {
            while (answer(false)) expect(++rounds).toBeLessThan(60)
            now += BACKOFF
            state = take(pushSotw(state, context(versions, now)))
            if (inbox.length === 0) break
          }
          const wanted = Object.entries(versions).filter(([name]) => isImplied || subscribed.includes(name))
          for (const [name, version] of wanted) expect(accepted[name]).toBe(version)
          if (hasFullSet && (isImplied || subscribed.length > 0))
            expect(Object.keys(accepted).sort()).toEqual(wanted.map(([name]) => name).sort())
          expect(pushSotw(state, context(versions, now)).response).toBeUndefined()
        }),
        { numRuns: 500 },
      )
    })
  }
})
