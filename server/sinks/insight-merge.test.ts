import { describe, expect, it } from 'vitest'
import type { DataplaneInsight, Subscription } from '../model/insight.ts'
import { mergeInsight, type ObservedStream } from './insight-merge.ts'

const subscription = (id: string, over: Partial<Subscription> = {}): Subscription => ({
  id,
  instance: 'i',
  variant: 'sotw',
  connectedAt: 1,
  generation: 3,
  types: {},
  ...over,
})
const closed = (id: string) => subscription(id, { disconnectedAt: 9 })
const seen = (of: Subscription, isNew = false): ObservedStream => ({ subscription: of, isNew })
const quiet = { isHeartbeatDue: false, keep: 2 }
const idsOf = ({ subscriptions }: DataplaneInsight) => subscriptions.map(({ id }) => id)
const mtls = { certificateExpiresAt: 5, certificateRegeneratedAt: 4, certificateRegenerations: 1, issuedBackend: 'ca' }

describe('an insight and what streams say', () => {
  it('begins with the first stream, at the first generation', () => {
    expect(mergeInsight(undefined, [seen(subscription('a', { generation: 0 }), true)], quiet)).toEqual({
      subscriptions: [subscription('a', { generation: 1 })],
    })
  })

  it('is the same reference when nothing is new, whatever generation the stream remembers', () => {
    const present = { subscriptions: [subscription('a')], mtls }
    expect(mergeInsight(present, [seen(subscription('a', { generation: 77 }))], quiet)).toBe(present)
  })

  it('takes an absent field and an undefined one for the same, and the same instant for the same', () => {
    const present = { subscriptions: [subscription('a', { agent: 'envoy 1.40.0' })] }
    const observed = { ...subscription('a', { agent: 'envoy 1.40.0' }), disconnectedAt: undefined } as unknown as Subscription
    expect(mergeInsight(present, [seen(observed)], quiet)).toBe(present)
  })

  it('moves the generation with each change, and at a heartbeat without one', () => {
    const present = { subscriptions: [subscription('a')] }
    expect(mergeInsight(present, [seen(subscription('a', { agent: 'envoy' }))], quiet).subscriptions[0]).toMatchObject({
      agent: 'envoy',
      generation: 4,
    })
    expect(mergeInsight(present, [seen(subscription('a'))], { ...quiet, isHeartbeatDue: true }).subscriptions[0]?.generation).toBe(4)
  })

  it('keeps what others wrote: certificate times and other subscriptions', () => {
    const elsewhere = subscription('b', { instance: 'other' })
    const next = mergeInsight({ subscriptions: [elsewhere, subscription('a')], mtls }, [seen(closed('a'))], quiet)
    expect(next.mtls).toBe(mtls)
    expect(next.subscriptions[0]).toBe(elsewhere)
  })

  it('drops the oldest when a new one comes', () => {
    expect(idsOf(mergeInsight({ subscriptions: [closed('a'), closed('b')] }, [seen(subscription('c'), true)], quiet))).toEqual(['b', 'c'])
  })

  it('opens again what somebody closed while its stream lives', () => {
    const next = mergeInsight({ subscriptions: [closed('a')] }, [seen(subscription('a'))], quiet)
    expect(next.subscriptions[0]).toMatchObject({ generation: 4 })
    expect(next.subscriptions[0]?.disconnectedAt).toBeUndefined()
  })
})

describe('a stored subscription that is not there any more', () => {
  it('goes back as the older one where there is room', () => {
    expect(idsOf(mergeInsight({ subscriptions: [subscription('b')] }, [seen(subscription('a'))], quiet))).toEqual(['a', 'b'])
    expect(idsOf(mergeInsight({ subscriptions: [] }, [seen(subscription('a'))], quiet))).toEqual(['a'])
  })

  it('takes the place of a closed one while it is open itself', () => {
    const present = { subscriptions: [closed('b'), subscription('c')] }
    expect(idsOf(mergeInsight(present, [seen(subscription('a'))], quiet))).toEqual(['a', 'c'])
  })

  it('never displaces an open one, nor a newer one by its own end', () => {
    const open = { subscriptions: [subscription('b'), subscription('c')] }
    expect(mergeInsight(open, [seen(subscription('a'))], quiet)).toBe(open)
    const ended = { subscriptions: [closed('b'), closed('c')] }
    expect(mergeInsight(ended, [seen(closed('a'))], quiet)).toBe(ended)
  })
})
