import { X509Certificate } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { DataplaneInsight, Subscription } from '../model/insight.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import { createUpsert } from '../store/upsert.ts'
import { createIdentity } from './identity.ts'

const subject = { type: 'Dataplane', mesh: 'default', name: 'web-1' }
const insight = { type: 'DataplaneInsight', mesh: 'default', name: 'web-1' }
const subscription: Subscription = { id: 's1', instance: 'cp-1', variant: 'delta', connectedAt: 1, generation: 3, types: {} }
const HOUR = 3_600_000

async function make(ttlMs = HOUR) {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock, kinds: await loadKinds(), instance: 'cp-1' })
  await store.create({ key: { type: 'Mesh', mesh: '', name: 'default' }, spec: {} }, { writer: 'test' })
  await store.create({ key: subject, spec: { networking: { address: '127.0.0.1', inbound: [], outbound: [] } } }, { writer: 'test' })
  const certificateTtlMs = createTunable(ttlMs)
  const upsert = createUpsert({ store, clock, random: () => 0.5 })
  const errors: string[] = []
  const identity = createIdentity({
    clock,
    random: () => 0.5,
    store,
    upsert,
    retry: () => ({ baseBackoffMs: 10, maxBackoffMs: 100, maxTimes: 5, jitterPercent: 0 }),
    certificateTtlMs,
    onError: (what, error) => errors.push(`${what}: ${String(error)}`),
  })
  const ending = new AbortController()
  const running = identity.run(ending.signal)
  const renewed = { count: 0 }
  const attach = (id = 's1') => identity.attach({ subject, id, services: ['web'], onRenewed: () => void renewed.count++ })
  const mtls = async () => (await store.get<DataplaneInsight>(insight)).spec.mtls
  /** Keys are made by the platform, in its own time. */
  const until = (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 5_000 })
  return {
    clock,
    store,
    identity,
    attach,
    renewed,
    mtls,
    until,
    errors,
    certificateTtlMs,
    async stop() {
      ending.abort()
      await running
      expect(clock.pending()).toBe(0)
      expect(errors).toEqual([])
    },
  }
}

describe('the identity of a data plane', () => {
  it('is a certificate of its mesh, for its services, valid for the time set, and its times are in the insight', async () => {
    const { clock, identity, attach, renewed, mtls, until, store, stop } = await make()
    attach()
    await until(async () => expect(await mtls()).toBeDefined())
    expect(renewed.count).toBe(1)
    const { certificate, rootPem } = identity.secretsOf(subject)!
    const [leaf, root] = [new X509Certificate(certificate.certificatePem), new X509Certificate(rootPem)]
    expect(leaf.checkIssued(root) && leaf.verify(root.publicKey)).toBe(true)
    expect(leaf.subjectAltName).toBe('URI:spiffe://default/web')
    expect(certificate.expiresAt - clock.now()).toBe(HOUR)
    expect(await mtls()).toEqual({
      certificateExpiresAt: certificate.expiresAt,
      certificateRegeneratedAt: certificate.issuedAt,
      certificateRegenerations: 1,
      issuedBackend: 'builtin-ca',
    })
    expect((await store.get({ type: 'Secret', mesh: 'default', name: 'builtin-ca' })).owner).toEqual({
      type: 'Mesh',
      mesh: '',
      name: 'default',
    })
    await stop()
  })

  it('is renewed before it ends, and when the time set is shortened at once', async () => {
    const { clock, attach, renewed, mtls, until, certificateTtlMs, stop } = await make()
    attach()
    await until(async () => expect(await mtls()).toMatchObject({ certificateRegenerations: 1 }))
    await clock.advance(HOUR * 0.79)
    expect(renewed.count).toBe(1)
    await clock.advance(HOUR * 0.02)
    await until(async () => expect(await mtls()).toMatchObject({ certificateRegenerations: 2 }))
    certificateTtlMs.set(HOUR / 2)
    await clock.advance(HOUR * 0.41)
    await until(async () => expect(await mtls()).toMatchObject({ certificateRegenerations: 3 }))
    expect(renewed.count).toBe(3)
    await stop()
  })

  it('keeps its certificate over a reconnect, and an old stream that ends takes nothing from the new one', async () => {
    const { identity, attach, renewed, until, stop } = await make()
    attach('s1')
    await until(() => expect(renewed.count).toBe(1))
    const before = identity.secretsOf(subject)
    attach('s2')
    expect(identity.secretsOf(subject)).toEqual(before)
    identity.detach(subject, 's1')
    expect(identity.size()).toBe(1)
    identity.detach(subject, 's2')
    expect(identity.size()).toBe(0)
    await stop()
  })

  it('loses neither its own fields nor the sink’s when both write the same insight at once', async () => {
    const { clock, store, attach, mtls, until, stop } = await make()
    await store.create<DataplaneInsight>({ key: insight, spec: { subscriptions: [subscription] } }, { writer: 'dataplane-sink' })
    const { update } = store
    let interfered = false
    // Just before its write another one wins.
    store.update = async (resource, options) => {
      if (options.writer === 'identity' && !interfered) {
        interfered = true
        const present = await store.get<DataplaneInsight>(insight)
        await update(
          { ...present, spec: { ...present.spec, subscriptions: [{ ...subscription, generation: 4 }] } },
          { writer: 'dataplane-sink' },
        )
      }
      return update(resource, options)
    }
    attach()
    await until(async () => {
      await clock.advance(10)
      expect(await mtls()).toMatchObject({ certificateRegenerations: 1 })
    })
    const { spec, writer } = await store.get<DataplaneInsight>(insight)
    expect(spec.subscriptions).toEqual([{ ...subscription, generation: 4 }])
    expect(writer.name).toBe('identity')
    await stop()
  })

  it('says nothing of a data plane that was removed while its certificate was made', async () => {
    const { store, attach, renewed, until, stop } = await make()
    await store.delete(subject, { writer: 'test' })
    attach()
    await until(() => expect(renewed.count).toBe(1))
    await stop()
  })
})
