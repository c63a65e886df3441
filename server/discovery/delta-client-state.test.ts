import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerDeltaClient, type DeltaClientState, nothingHeld, openDeltaClient, subscribeDeltaClient } from './delta-client-state.ts'
import { type DeltaRequest, type DeltaResponse, type DeltaTypeState, openDelta, pushDelta, stepDelta } from './delta-state.ts'
import type { NamedVersion, Present } from './discovery.ts'

const answerOf = (versions: Record<string, string>, removed: readonly string[] = []): DeltaResponse<NamedVersion> => ({
  nonce: 'n1',
  resources: Object.entries(versions).map(([name, version]) => ({ name, version })),
  removed,
})

describe('the client half of a delta session', () => {
  it('asks for everything, or for names', () => {
    expect(openDeltaClient(nothingHeld, undefined).request).toMatchObject({ subscribe: ['*'], initialVersions: {} })
    expect(openDeltaClient(nothingHeld, ['a', 'b']).request).toMatchObject({ subscribe: ['a', 'b'] })
  })

  it('holds what it accepts and forgets what is removed', () => {
    const { state } = openDeltaClient(nothingHeld, undefined)
    const first = answerDeltaClient(state, answerOf({ a: '1', b: '1' }))
    expect(first.request).toMatchObject({ nonce: 'n1', rejection: undefined })
    const second = answerDeltaClient(first.state, answerOf({ a: '2' }, ['b']))
    expect([...second.state.holds]).toEqual([['a', '2']])
  })

  it('keeps what it had when it refuses, and says why', () => {
    const held = answerDeltaClient(openDeltaClient(nothingHeld, undefined).state, answerOf({ a: '1' })).state
    const refused = answerDeltaClient(held, answerOf({ a: '2' }, ['a']), 'bad a')
    expect(refused.request).toMatchObject({ nonce: 'n1', rejection: 'bad a' })
    expect([...refused.state.holds]).toEqual([['a', '1']])
  })

  it('says what it holds on the next stream, but nothing of what it asks for no more', () => {
    const held = answerDeltaClient(openDeltaClient(nothingHeld, ['a', 'b']).state, answerOf({ a: '1', b: '1' })).state
    expect(openDeltaClient(held, ['a', 'c']).request).toMatchObject({ subscribe: ['a', 'c'], initialVersions: { a: '1' } })
  })

  it('asks only for what moved, and forgets what it no longer asks for', () => {
    const held = answerDeltaClient(openDeltaClient(nothingHeld, ['a', 'b']).state, answerOf({ a: '1', b: '1' })).state
    const moved = subscribeDeltaClient(held, ['b', 'c'])
    expect(moved.request).toMatchObject({ subscribe: ['c'], unsubscribe: ['a'] })
    expect([...moved.state.holds.keys()]).toEqual(['b'])
    expect(subscribeDeltaClient(moved.state, ['c', 'b']).request).toBeUndefined()
  })

  it('and the server half agree over reconnects, refusals and changes: at the end the client holds exactly what it asks for', () => {
    const names = ['a', 'b', 'c', 'd']
    const content = fc.dictionary(fc.constantFrom(...names), fc.constantFrom('1', '2'))
    const command = fc.oneof(
      fc.record({ do: fc.constant('content' as const), content }),
      fc.record({ do: fc.constant('names' as const), names: fc.subarray(names) }),
      fc.record({ do: fc.constant('answer' as const), refuse: fc.boolean() }),
      fc.constant({ do: 'reconnect' as const }),
    )
    fc.assert(
      fc.property(fc.option(fc.subarray(names), { nil: undefined }), fc.array(command, { maxLength: 25 }), (asked, commands) => {
        let stored: Record<string, string> = {}
        let made = 0
        let now = 0
        let client: DeltaClientState = nothingHeld
        let server: DeltaTypeState | undefined
        const sent: DeltaResponse<NamedVersion>[] = []
        const present = (): Present<NamedVersion> => {
          const own = new Map(Object.entries(stored).map(([name, version]) => [name, { name, version }]))
          return { own, find: (name) => own.get(name) }
        }
        const context = () => ({ present: present(), now, nackBackoffMs: 100, nextNonce: () => `n${++made}` })
        const tell = (request: DeltaRequest | undefined) => {
          if (request === undefined) return
          const step = server === undefined ? openDelta(request, context()) : stepDelta(server, request, context())
          server = step.state
          if (step.response !== undefined) sent.push(step.response)
        }
        const connect = (wanted: readonly string[] | undefined) => {
          sent.length = 0
          server = undefined
          const step = openDeltaClient(client, wanted)
          client = step.state
          tell(step.request)
        }
        const answer = (refuse: boolean) => {
          const response = sent.shift()
          if (response === undefined) return
          const step = answerDeltaClient(client, response, refuse ? 'no' : undefined)
          client = step.state
          tell(step.request)
        }
        // A first request without a name asks for everything: nobody asks for nothing.
        const wanted = asked?.length === 0 ? undefined : asked
        connect(wanted)
        for (const each of commands) {
          if (each.do === 'content') stored = each.content
          else if (each.do === 'answer') answer(each.refuse)
          else if (each.do === 'reconnect') connect(client.wildcard || client.names.size === 0 ? undefined : [...client.names])
          else if (!client.wildcard && each.names.length > 0) {
            const step = subscribeDeltaClient(client, each.names)
            client = step.state
            tell(step.request)
          }
          const pushed = pushDelta(server!, context())
          server = pushed.state
          if (pushed.response !== undefined) sent.push(pushed.response)
        }
        for (let lap = 0; lap < 20; lap++) {
          while (sent.length > 0) answer(false)
          now += 200
          const pushed = pushDelta(server!, context())
          server = pushed.state
          if (pushed.response !== undefined) sent.push(pushed.response)
        }
        const expected = Object.entries(stored).filter(([name]) => client.wildcard || client.names.has(name))
        expect(Object.fromEntries([...client.holds].filter(([name]) => client.wildcard || client.names.has(name)))).toEqual(
          Object.fromEntries(expected),
        )
      }),
      { numRuns: 2_000 },
    )
  })
})
