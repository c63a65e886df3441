import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { createDelivery, type Delivery } from './delivery.ts'

const BACKOFF = 5_000
const TYPE = 'MeshTimeout'
let delivery: Delivery
let nonces = 0
beforeEach(() => {
  delivery = createDelivery({ backoffMs: (attempt) => Math.min(BACKOFF * 2 ** (attempt - 1), 60_000) })
  delivery.opened()
  nonces = 0
})

const of = (...names: readonly string[]) => new Map(names.map((name) => [name, '1']))
const send = (content: ReadonlyMap<string, string>, type = TYPE) => {
  const nonce = String(++nonces)
  delivery.sent(type, nonce, content)
  return nonce
}
const refuse = (content: ReadonlyMap<string, string>, reason: string, { now = 0, type = TYPE } = {}) =>
  delivery.settled(send(content, type), reason, now)
const ack = (content: ReadonlyMap<string, string>, { now = 0, type = TYPE } = {}) => delivery.settled(send(content, type), undefined, now)
/** What of the present ones may go now. */
const free = (present: ReadonlyMap<string, string>, now: number, type = TYPE) => {
  delivery.takeTurn(type, new Map([...present].map(([name, version]) => [name, { version }])), now)
  return [...present].filter(([name, version]) => !delivery.isHeldBack(type, name, version)).map(([name]) => name)
}

describe('after a refusal', () => {
  it('only the refused content waits, and changed content of it goes at once', () => {
    refuse(of('a.demo'), 'too short')
    expect(delivery.isHeldBack(TYPE, 'a.demo', '1')).toBe(true)
    expect(delivery.isHeldBack(TYPE, 'a.demo', '2')).toBe(false)
    expect(delivery.isHeldBack(TYPE, 'b.demo', '1')).toBe(false)
    expect(delivery.isHeldBack('MeshRetry', 'a.demo', '1')).toBe(false)
    expect(delivery.deadline()).toBe(BACKOFF)
  })

  it('a further one joins the deadline of the stream and never extends it, whatever its type', () => {
    refuse(of('a.demo'), 'no', { now: 0 })
    refuse(of('r.demo'), 'no', { now: 3_000, type: 'MeshRetry' })
    refuse(of('b.demo'), 'no', { now: 4_999 })
    expect(delivery.deadline()).toBe(BACKOFF)
    expect(delivery.waiting()).toEqual([TYPE, 'MeshRetry'])
  })

  it('a peer that names what it refuses is taken at its word', () => {
    refuse(of('a.demo', 'b.demo', 'c.demo'), 'b.demo: its Mesh is not there\nfurther words')
    expect(delivery.suspects(TYPE)).toMatchObject([{ name: 'b.demo', oneOf: 1, times: 1, kind: 'refused' }])
    expect(free(of('a.demo', 'b.demo', 'c.demo'), 1)).toEqual(['a.demo', 'c.demo'])
  })

  it('one that names nobody makes each a suspect, and they go one at a time until the culprits are known', () => {
    const all = of('a.demo', 'b.demo', 'c.demo')
    refuse(all, 'spec.to[0]: must be greater than zero')
    expect(delivery.suspects(TYPE).map(({ oneOf }) => oneOf)).toEqual([3, 3, 3])
    expect(free(all, BACKOFF - 1)).toEqual([])
    expect(free(all, BACKOFF)).toEqual(['a.demo'])
    refuse(of('a.demo'), 'spec.to[0]: must be greater than zero', { now: BACKOFF })
    expect(free(all, BACKOFF)).toEqual(['b.demo'])
    ack(of('b.demo'), { now: BACKOFF })
    expect(free(all, BACKOFF)).toEqual(['b.demo', 'c.demo'])
    refuse(of('c.demo'), 'spec: is empty', { now: BACKOFF })
    expect(free(all, BACKOFF)).toEqual(['b.demo'])
    expect(delivery.suspects(TYPE)).toMatchObject([
      { name: 'a.demo', oneOf: 1, times: 2, since: 0 },
      { name: 'c.demo', oneOf: 1, times: 2, reason: 'spec: is empty' },
    ])
    expect(delivery.deadline(), 'the next wait is longer').toBe(BACKOFF + 2 * BACKOFF)
  })

  it('waits grow up to their cap, and begin anew after an acceptance', () => {
    let now = 0
    const waits = Array.from({ length: 6 }, () => {
      refuse(of('a.demo'), 'no', { now })
      free(of('a.demo'), now)
      const wait = (delivery.deadline() ?? NaN) - now
      now += wait
      free(of('a.demo'), now)
      return wait
    })
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000])
    ack(of('a.demo'), { now })
    expect(delivery.deadline()).toBeUndefined()
    refuse(of('a.demo'), 'again', { now })
    expect(delivery.deadline()).toBe(now + BACKOFF)
  })

  it('nothing is held against what is gone meanwhile', () => {
    refuse(of('a.demo'), 'no')
    free(new Map(), 1)
    expect(delivery.suspects(TYPE)).toEqual([])
    expect(delivery.deadline()).toBeUndefined()
  })

  it('a new connection begins without it, for all is sent again', () => {
    refuse(of('a.demo'), 'no')
    delivery.ended({ now: 1, reason: 'reset', byUs: false })
    delivery.opened()
    expect(free(of('a.demo'), 2)).toEqual(['a.demo'])
  })

  it('an operator may try at once', () => {
    refuse(of('a.demo'), 'no')
    delivery.release()
    expect(free(of('a.demo'), 1)).toEqual(['a.demo'])
    expect(delivery.deadline()).toBeUndefined()
  })
})

describe('a peer that ends the connection at what it cannot decode', () => {
  const present = of('bad.demo', 'good.demo', 'fine.demo')
  const reconnect = () => {
    delivery.ended({ now: 0, reason: 'the peer ended the stream', byUs: false })
    delivery.opened()
  }

  it('has it named within five connections, while all else flows from the second on', () => {
    // First: everything at once; the type before was acknowledged.
    ack(of('demo.'), { type: 'Mesh' })
    send(present)
    send(of('r.demo'), 'MeshRetry')
    reconnect()
    // Second: the others first, that type last.
    send(of('demo.'), 'Mesh')
    expect(delivery.mayOpen('MeshRetry')).toBe(true)
    expect(delivery.mayOpen(TYPE)).toBe(false)
    delivery.settled(String(nonces), undefined, 0)
    expect(delivery.mayOpen(TYPE)).toBe(true)
    send(present)
    reconnect()
    // From the third on: one at a time. The one that ends the stream twice is the culprit, and goes after the others meanwhile.
    const order: string[] = []
    for (let connection = 3; connection <= 5 && delivery.suspects(TYPE).length === 0; connection++) {
      for (;;) {
        const [next] = free(present, 0).filter((name) => !order.includes(name) || name === 'bad.demo')
        if (next === undefined) break
        if (next === 'bad.demo') {
          send(of(next))
          reconnect()
          break
        }
        order.push(next)
        ack(of(next))
      }
    }
    expect(order.sort()).toEqual(['fine.demo', 'good.demo'])
    expect(delivery.suspects(TYPE)).toMatchObject([{ name: 'bad.demo', kind: 'poison', reason: 'the peer ended the stream' }])
    expect(free(present, 1e9)).toEqual(['good.demo', 'fine.demo'])
    expect(delivery.deadline(), 'it is not tried again by itself').toBeUndefined()
  })

  it('gets it when its content changes, or an operator releases it', () => {
    const only = of('bad.demo')
    for (let connection = 1; connection <= 4; connection++) {
      free(only, 0)
      send(only)
      reconnect()
    }
    expect(delivery.suspects(TYPE)).toMatchObject([{ name: 'bad.demo', kind: 'poison', times: 2 }])
    expect(free(only, 0)).toEqual([])
    expect(free(new Map([['bad.demo', '2']]), 0)).toEqual(['bad.demo'])
    free(only, 0)
    delivery.release(TYPE)
    expect(free(only, 0)).toEqual(['bad.demo'])
  })

  it('is not suspected when we ended it, or when nothing was on its way', () => {
    send(present)
    delivery.ended({ now: 0, reason: 'we stop', byUs: true })
    delivery.opened()
    expect(delivery.mayOpen(TYPE)).toBe(true)
    ack(present)
    reconnect()
    send(of('demo.'), 'Mesh')
    expect(delivery.mayOpen(TYPE)).toBe(true)
  })
})

it('whatever a peer refuses for a while, in the end everything is accepted and nothing waits', () => {
  const names = ['a', 'b', 'c', 'd'].map((name) => `${name}.demo`)
  const step = fc.record({
    now: fc.integer({ min: 0, max: 20_000 }),
    refused: fc.subarray(names),
    isNamed: fc.boolean(),
    ends: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      delivery = createDelivery({ backoffMs: () => BACKOFF })
      delivery.opened()
      const present = of(...names)
      const accepted = new Set<string>()
      let now = 0
      const round = (refused: readonly string[], isNamed: boolean) => {
        const going = free(present, now).filter((name) => !accepted.has(name))
        if (going.length === 0) return
        const nonce = send(of(...going))
        const bad = going.filter((name) => refused.includes(name))
        if (bad.length === 0 || isNamed) for (const name of going) if (!bad.includes(name)) accepted.add(name)
        delivery.settled(nonce, bad.length === 0 ? undefined : isNamed ? bad.map((name) => `${name}: no`).join('\n') : 'no', now)
      }
      for (const each of steps) {
        now += each.now
        if (each.ends) {
          accepted.clear()
          delivery.ended({ now, reason: 'reset', byUs: false })
          delivery.opened()
        }
        round(each.refused, each.isNamed)
      }
      for (let lap = 0; lap < 30 && accepted.size < names.length; lap++) {
        round([], true)
        if (delivery.deadline() !== undefined) now = Math.max(now, delivery.deadline() ?? 0)
      }
      expect([...accepted].sort()).toEqual(names)
      free(present, now)
      expect(delivery.deadline()).toBeUndefined()
      expect(delivery.suspects(TYPE)).toEqual([])
    }),
  )
})
