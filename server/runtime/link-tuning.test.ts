import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { SettingValue } from '../model/views.ts'
import { createSettings } from '../settings/settings.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import { createGatePolicy, createLinkTuning } from './link-tuning.ts'

const kinds = await loadKinds()

const clock = createFakeClock()

async function createWorld(first: Record<string, SettingValue> = {}, store = createMemoryStore({ clock, kinds, instance: 'test' })) {
  let ids = 0
  const errors: unknown[] = []
  const settings = createSettings({
    store,
    clock,
    newId: () => `change-${++ids}`,
    onError: (_, error) => errors.push(error),
    links: () => ['pods', 'nodes'],
  })
  await settings.load(first)
  const set = (key: string, value: SettingValue) => settings.apply({ key, value, expectedVersion: settings.get(key).version, by: 'ada' })
  return { store, settings, set, pods: createLinkTuning(settings, 'pods'), nodes: createLinkTuning(settings, 'nodes') }
}

describe('how a link waits', () => {
  it('follows the settings of all links, and its own before them', async () => {
    const { set, pods, nodes } = await createWorld()
    await set('link.jitter', false)
    const first = () => [pods, nodes].map(({ policy }) => policy.get().delayMs(1, 0))
    expect(first()).toEqual([800, 800])
    await set('link.baseBackoffMs', 1_000)
    await set('link.pods.baseBackoffMs', 300)
    expect(first()).toEqual([300, 1_000])
    expect(pods.row()).toMatchObject({
      baseBackoffMs: { value: 300, overridden: true },
      maxBackoffMs: { value: 30_000, overridden: false },
      jitter: { value: false, overridden: false },
    })
    await set('link.pods.baseBackoffMs', 'inherit')
    expect(first()).toEqual([1_000, 1_000])
    expect(pods.row().baseBackoffMs).toEqual({ value: 1_000, overridden: false })
  })

  it('is told of each change, of its own and of all', async () => {
    const { set, pods } = await createWorld()
    const watching = new AbortController()
    const seen: number[] = []
    pods.policy.watch((policy) => seen.push(policy.unhealthyAfterMs), watching.signal)
    await set('link.unhealthyAfterMs', 60_000)
    await set('link.pods.unhealthyAfterMs', 90_000)
    await set('link.nodes.unhealthyAfterMs', 70_000)
    expect(seen).toEqual([60_000, 90_000])
    watching.abort()
  })

  it('follows what another process sets for it, and outlives a restart', async () => {
    const here = await createWorld()
    const stopping = new AbortController()
    const running = here.settings.run(stopping.signal)
    await clock.advance(0)
    const there = await createWorld({}, here.store)
    await there.set('link.pods.baseBackoffMs', 300)
    await clock.advance(0)
    expect(here.pods.row().baseBackoffMs).toEqual({ value: 300, overridden: true })
    const later = await createWorld({}, here.store)
    expect(later.pods.row().baseBackoffMs).toEqual({ value: 300, overridden: true })
    stopping.abort()
    await running
  })

  it('may be given in the configuration', async () => {
    const { pods, settings } = await createWorld({ 'link.pods.factor': 1.5 })
    expect(pods.row().factor).toEqual({ value: 1.5, overridden: true })
    expect(settings.list().find(({ key }) => key === 'link.pods.factor')).toMatchObject({ value: 1.5, version: '0' })
    await expect(createWorld({ 'link.pod.factor': 1.5 })).rejects.toThrow('there is no link "pod"')
    await expect(createWorld({ 'link.pods.maxBackoffMs': 50_000 })).rejects.toThrow('must be below link.unhealthyAfterMs')
  })

  it('is among the settings once somebody set it, under the lock that settings have', async () => {
    const { settings, set } = await createWorld()
    expect(settings.list().some(({ key }) => key.startsWith('link.pods.'))).toBe(false)
    expect(settings.get('link.pods.factor')).toMatchObject({
      value: 'inherit',
      default: 'inherit',
      version: '0',
      range: { min: 1, max: 10 },
    })
    const { setting } = await set('link.pods.factor', 3)
    expect(settings.list().at(-1)).toEqual(setting)
    expect(settings.history({ key: 'link.pods.factor' })).toMatchObject([{ from: 'inherit', to: 3, by: 'ada' }])
    const stale = settings.apply({ key: 'link.pods.factor', value: 4, expectedVersion: '0', by: 'grace' })
    await expect(stale).rejects.toMatchObject({ code: 'conflict' })
    await expect(settings.apply({ key: 'link.none.factor', value: 3, expectedVersion: '0', by: 'ada' })).rejects.toThrow(
      'there is no link "none"',
    )
  })
})

describe('how an endpoint is probed', () => {
  it('follows the settings', async () => {
    const { settings, set } = await createWorld()
    const policy = createGatePolicy(settings)
    expect([1, 2, 9].map((probe) => policy.get().delayMs(probe))).toEqual([500, 800, 5_000])
    await set('link.probeMaxMs', 30_000)
    await set('link.rampPerSecond', 10)
    expect([policy.get().delayMs(20), policy.get().rampPerSecond]).toEqual([30_000, 10])
  })
})
