import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DeltaRequest, type DeltaTypeState, openDelta, pushDelta, resyncDelta, stepDelta } from './delta-state.ts'
import type { DiscoveryContext, NamedVersion, Present } from './discovery.ts'

const BACKOFF = 5_000
const request = (over: Partial<DeltaRequest> = {}): DeltaRequest => ({
  subscribe: [],
  unsubscribe: [],
  initialVersions: {},
  nonce: '',
  rejection: undefined,
  ...over,
})
const presentOf = (versions: Readonly<Record<string, string>>): Present<NamedVersion> => {
  const own = new Map(Object.entries(versions).map(([name, version]) => [name, { name, version }]))
  return { own, find: (name) => own.get(name) }
}

function session(versions: Readonly<Record<string, string>>) {
  let made = 0
  const context = (now = 0, over = versions): DiscoveryContext<NamedVersion> => ({
    present: presentOf(over),
    now,
    nackBackoffMs: BACKOFF,
    nextNonce: () => `n${++made}`,
  })
  return { context }
}
const namesOf = (resources: readonly NamedVersion[] | undefined) => resources?.map(({ name }) => name).sort()

describe('a delta session', () => {
  it('treats a first request without names as a subscription to everything, and answers it also when there is nothing', () => {
    const { context } = session({})
    const { state, response } = openDelta(request(), context())
    expect(state.wildcard).toBe(true)
    expect(response).toEqual({ nonce: 'n1', resources: [], removed: [] })
  })

  it('stays subscribed to everything when a name is added to a first request without names', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request(), context())
    const { state } = stepDelta(opened.state, request({ subscribe: ['a'], nonce: 'n1' }), context())
    expect(state.wildcard).toBe(true)
    const { response } = pushDelta(state, context(0, { a: '1', b: '2' }))
    expect(namesOf(response?.resources)).toEqual(['b'])
  })

  it('sends only differences from what the peer says it holds on a new stream, and names what is gone', () => {
    const { context } = session({ a: '1', b: '2' })
    const { response } = openDelta(request({ initialVersions: { a: '1', b: '1', gone: '1' } }), context())
    expect(namesOf(response?.resources)).toEqual(['b'])
    expect(response?.removed).toEqual(['gone'])
  })

  it('answers a reconnect that lacks nothing with an empty response, so that the peer knows', () => {
    const { context } = session({ a: '1' })
    expect(openDelta(request({ initialVersions: { a: '1' } }), context()).response).toEqual({ nonce: 'n1', resources: [], removed: [] })
  })

  it('keeps the subscription to a name that is not there, says so once, and sends it when it appears', () => {
    const { context } = session({})
    const opened = openDelta(request({ subscribe: ['x'] }), context())
    expect(opened.response?.removed).toEqual(['x'])
    const acked = stepDelta(opened.state, request({ nonce: 'n1' }), context())
    expect(acked.response).toBeUndefined()
    expect(pushDelta(acked.state, context()).response).toBeUndefined()
    expect(namesOf(pushDelta(acked.state, context(0, { x: '1' })).response?.resources)).toEqual(['x'])
  })

  it('does not answer "*" repeated with an ACK or NACK, or real zones would loop', () => {
    const { context } = session({ a: '1' })
    const opened = openDelta(request({ subscribe: ['*'] }), context())
    const acked = stepDelta(opened.state, request({ subscribe: ['*'], nonce: 'n1' }), context())
    expect(acked).toMatchObject({ settled: 'ack', response: undefined })
    const pushed = pushDelta(acked.state, context(0, { a: '2' }))
    const nacked = stepDelta(
      pushed.state,
      request({ subscribe: ['*'], nonce: pushed.response!.nonce, rejection: 'no' }),
      context(0, { a: '2' }),
    )
    expect(nacked).toMatchObject({ settled: 'nack', response: undefined })
  })

  it('sends a name again when it is subscribed again', () => {
    const { context } = session({ a: '1' })
    const opened = openDelta(request({ subscribe: ['a'] }), context())
    const again = stepDelta(opened.state, request({ subscribe: ['a'], nonce: 'n1' }), context())
    expect(namesOf(again.response?.resources)).toEqual(['a'])
  })

  it('holds back what was refused, and only that, until the deadline; changed content goes at once', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request(), context())
    const refused = stepDelta(opened.state, request({ nonce: 'n1', rejection: 'b is bad' }), context(100))
    expect(refused.settled).toBe('nack')
    expect(refused.response).toBeUndefined()
    expect(refused.state.refusal).toEqual({ reason: 'b is bad', names: ['a', 'b'] })
    expect(pushDelta(refused.state, context(200)).response).toBeUndefined()
    expect(namesOf(pushDelta(refused.state, context(200, { a: '1', b: '2' })).response?.resources)).toEqual(['b'])
    expect(namesOf(pushDelta(refused.state, context(100 + BACKOFF)).response?.resources)).toEqual(['a', 'b'])
  })

  it('lets a further NACK during the wait join the deadline without extending it', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request({ subscribe: ['a'] }), context())
    const first = stepDelta(opened.state, request({ nonce: 'n1', rejection: 'bad a' }), context(0))
    const more = stepDelta(first.state, request({ subscribe: ['b'] }), context(1_000))
    const second = stepDelta(more.state, request({ nonce: more.response!.nonce, rejection: 'bad b' }), context(2_000))
    expect(second.state.heldUntil).toBe(BACKOFF)
    expect(namesOf(pushDelta(second.state, context(BACKOFF)).response?.resources)).toEqual(['a', 'b'])
  })

  it('clears a rejection when what was refused is accepted later, and not before', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request(), context())
    const refused = stepDelta(opened.state, request({ nonce: 'n1', rejection: 'bad' }), context(0))
    const partly = pushDelta(refused.state, context(0, { a: '1', b: '2' }))
    const half = stepDelta(partly.state, request({ nonce: partly.response!.nonce }), context(0, { a: '1', b: '2' }))
    expect(half.state.refusal?.names).toEqual(['a'])
    const rest = pushDelta(half.state, context(BACKOFF, { a: '1', b: '2' }))
    const whole = stepDelta(rest.state, request({ nonce: rest.response!.nonce }), context(BACKOFF, { a: '1', b: '2' }))
    expect(whole.state.refusal).toBeUndefined()
  })

  it('requeues a refused removal: the peer still holds it', () => {
    const { context } = session({})
    const opened = openDelta(request({ initialVersions: { gone: '1' } }), context())
    const refused = stepDelta(opened.state, request({ nonce: 'n1', rejection: 'in use' }), context(0))
    expect(pushDelta(refused.state, context(1)).response).toBeUndefined()
    expect(pushDelta(refused.state, context(BACKOFF)).response?.removed).toEqual(['gone'])
  })

  it('does not forget, by the refusal of an older response, what a newer one on its way has added', () => {
    const { context } = session({ b: '1' })
    const opened = openDelta(request(), context())
    const gone = pushDelta(opened.state, context(0, {}))
    const back = pushDelta(gone.state, context())
    expect(namesOf(back.response?.resources)).toEqual(['b'])
    const refused = stepDelta(back.state, request({ nonce: opened.response!.nonce, rejection: 'bad' }), context())
    // Its peer will hold b by the newer response, so it must be told when b goes.
    expect(pushDelta(refused.state, context(0, {})).response?.removed).toEqual(['b'])
  })

  it('does not forget what a peer would not remove when it refuses to have it added again', () => {
    const { context } = session({ a: '1' })
    const opened = openDelta(request(), context())
    const gone = pushDelta(opened.state, context(0, {}))
    const held = stepDelta(gone.state, request({ nonce: opened.response!.nonce }), context(0, {}))
    const back = pushDelta(held.state, context())
    const kept = stepDelta(back.state, request({ nonce: gone.response!.nonce, rejection: 'in use' }), context())
    const refused = stepDelta(kept.state, request({ nonce: back.response!.nonce, rejection: 'bad' }), context())
    // It still has what it accepted first.
    expect(pushDelta(refused.state, context(BACKOFF, {})).response?.removed).toEqual(['a'])
  })

  it('takes an unknown nonce for neither ACK nor NACK, but its subscription counts', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request({ subscribe: ['a'] }), context())
    const step = stepDelta(opened.state, request({ subscribe: ['b'], nonce: 'older', rejection: 'bad' }), context())
    expect(step.settled).toBe('stale')
    expect(step.state.refusal).toBeUndefined()
    expect(namesOf(step.response?.resources)).toEqual(['b'])
  })

  it('sends what depends on a change again though it did not change itself, if it is subscribed', () => {
    const { context } = session({ search: '1', other: '1' })
    const opened = openDelta(request({ subscribe: ['search'] }), context())
    const pushed = pushDelta(opened.state, context(), new Set(['search', 'other']))
    expect(namesOf(pushed.response?.resources)).toEqual(['search'])
  })

  it('stops sending what is unsubscribed and sends no removal for it', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request({ subscribe: ['a', 'b'] }), context())
    const { state, response } = stepDelta(opened.state, request({ unsubscribe: ['b'], nonce: 'n1' }), context())
    expect(response).toBeUndefined()
    expect(pushDelta(state, context(0, { a: '1', b: '2' })).response).toBeUndefined()
  })

  it('costs a bounded amount when its peer never answers', () => {
    const { context } = session({})
    let { state } = openDelta(request(), context())
    for (let version = 0; version < 2_000; version++) ({ state } = pushDelta(state, context(0, { a: String(version) })))
    expect(state.outstanding.size).toBeLessThan(300)
    expect(stepDelta(state, request({ nonce: 'n1' }), context()).settled).toBe('stale')
  })

  it('sends everything again on resync, what was refused included', () => {
    const { context } = session({ a: '1', b: '1' })
    const opened = openDelta(request(), context())
    const refused = stepDelta(opened.state, request({ nonce: 'n1', rejection: 'bad' }), context(0))
    expect(namesOf(resyncDelta(refused.state, context(1)).response?.resources)).toEqual(['a', 'b'])
  })

  it('brings any peer that answers everything to exactly what is present, and then says nothing more', () => {
    const names = ['a', 'b', 'c', 'd']
    const version = fc.constantFrom('1', '2', '3')
    const content = fc.dictionary(fc.constantFrom(...names), version)
    const command = fc.oneof(
      fc.record({ kind: fc.constant('content' as const), content }),
      fc.record({ kind: fc.constant('answer' as const), refuse: fc.boolean() }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 8_000 }) }),
      fc.record({ kind: fc.constant('reconnect' as const) }),
    )
    fc.assert(
      fc.property(content, fc.array(command, { maxLength: 30 }), (start, commands) => {
        let now = 0
        let made = 0
        let content_ = start
        const nonces = new Set<string>()
        const holds = new Map<string, string>()
        const unanswered: { nonce: string; resources: readonly NamedVersion[]; removed: readonly string[] }[] = []
        const context = (): DiscoveryContext<NamedVersion> => ({
          present: presentOf(content_),
          now,
          nackBackoffMs: BACKOFF,
          nextNonce: () => `n${++made}`,
        })
        const take = (step: { state: DeltaTypeState; response: (typeof unanswered)[number] | undefined }) => {
          if (step.response !== undefined) {
            expect(nonces.has(step.response.nonce)).toBe(false)
            nonces.add(step.response.nonce)
            unanswered.push(step.response)
          }
          return step.state
        }
        const answer = (refuse: boolean) => {
          const response = unanswered.shift()
          if (response === undefined) return
          if (!refuse) {
            for (const { name, version: taken } of response.resources) holds.set(name, taken)
            for (const name of response.removed) holds.delete(name)
          }
          state = take(stepDelta(state, request({ nonce: response.nonce, rejection: refuse ? 'no' : undefined }), context()))
        }
        let state = take(openDelta(request(), context()))
        for (const each of commands) {
          if (each.kind === 'content') content_ = each.content
          else if (each.kind === 'wait') now += each.ms
          else if (each.kind === 'answer') answer(each.refuse)
          else {
            unanswered.length = 0
            state = take(openDelta(request({ initialVersions: Object.fromEntries(holds) }), context()))
          }
          state = take(pushDelta(state, context()))
        }
        for (let lap = 0; lap < 20; lap++) {
          while (unanswered.length > 0) answer(false)
          now += BACKOFF
          state = take(pushDelta(state, context()))
        }
        expect(Object.fromEntries(holds)).toEqual(content_)
        expect(unanswered).toEqual([])
        expect(state.refusal).toBeUndefined()
      }),
    )
  })
})
