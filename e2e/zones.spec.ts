import { setSwitch } from './switches.ts'
import { type Tidewatch, expect, startTidewatch, test as base } from './tidewatch.ts'
import type { SessionRow } from '../server/model/views.ts'

/** A global and its zones, each in a process of its own, over real sockets; and what a person sees of them. */

interface Rest {
  readonly type: string
  readonly mesh?: string
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: unknown
}
const TYPES = ['Mesh', 'MeshTimeout', 'MeshRetry', 'MeshCircuitBreaker']

async function contentOf(tidewatch: Tidewatch): Promise<readonly string[]> {
  const all: Rest[] = []
  for (const type of TYPES) all.push(...(await tidewatch.call<{ items: Rest[] }>('resources.list', { type, limit: 1000 })).items)
  return all
    .map(({ type, mesh = '', name, labels, spec }) => `${type} ${mesh}/${labels?.['kuma.io/display-name'] ?? name} ${JSON.stringify(spec)}`)
    .sort()
}
const isSame = async (a: Tidewatch, b: Tidewatch) =>
  expect.poll(async () => JSON.stringify(await contentOf(b)), { timeout: 20_000 }).toBe(JSON.stringify(await contentOf(a)))
const apply = (tidewatch: Tidewatch, resource: Rest) => tidewatch.mutate('resources.apply', { resource })
const zoneFlags = (global: Tidewatch, name: string) => ['--no-ui', '--mode', 'zone', '--zone', name, '--global-address', global.kds ?? '']

const test = base.extend<object, { demo: Tidewatch }>({
  demo: [
    async ({}, use) => {
      const demo = await startTidewatch({ flags: ['--demo'] })
      await use(demo)
      await demo.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ demo }, use) => {
    await use(demo.url)
  },
})

test('a global and its zone come back equal after either was killed in the middle', async () => {
  const global = await startTidewatch({ flags: ['--mode', 'global', '--no-ui'] })
  const east = await startTidewatch({ flags: zoneFlags(global, 'east') })
  try {
    await isSame(global, east)
    await Promise.all([
      east.restart('SIGKILL'),
      ...Array.from({ length: 20 }, (_, index) => apply(global, { type: 'Mesh', name: `m-${index}` })),
    ])
    await isSame(global, east)
    // Whether this one was acknowledged before the kill is a matter of moments; that both ends agree on it is not.
    await Promise.allSettled([apply(global, { type: 'Mesh', name: 'last' }), global.restart('SIGKILL')])
    await apply(global, { type: 'Mesh', name: 'after' })
    await isSame(global, east)
  } finally {
    await east.stop()
    await global.stop()
  }
})

test('what a zone refuses is read on Streams with its reason and a countdown, all else flows, and it is over when the cause is', async ({
  page,
  demo,
}) => {
  const streams = async () => (await demo.call<{ items: SessionRow[] }>('sessions.list')).items.filter(({ protocol }) => protocol === 'kds')
  await expect.poll(async () => (await streams()).length, { timeout: 20_000 }).toBe(4)
  await page.goto('/')
  await setSwitch(page, 'east lacks a mesh', true)
  await expect(page.getByText('1 zone does not take all that is sent')).toBeVisible({ timeout: 10_000 })
  await page.getByRole('link', { name: 'See what' }).click()
  await page.getByRole('button', { name: 'east', exact: true }).click()
  const detail = page.getByRole('region', { name: 'Zone east' })
  await expect(detail).toContainText('simulated: this zone takes no new mesh today', { timeout: 10_000 })
  await expect(detail).toContainText('belongs to Mesh late, which is not there')
  await expect(detail).toContainText(/sent again in [\d.]+ s/)
  const refused = (await streams()).find(({ subject, direction }) => subject.name === 'east' && direction === 'down')?.refused ?? []
  expect(new Set(refused.map(({ type }) => type))).toEqual(new Set(['Mesh', 'Secret', 'MeshTimeout', 'MeshRetry', 'MeshCircuitBreaker']))
  const west = (await streams()).find(({ subject, direction }) => subject.name === 'west' && direction === 'down')
  expect(west?.refused).toEqual([])

  await page.goto('/')
  await setSwitch(page, 'east lacks a mesh', false)
  await page.goto('/streams?zone=east')
  await detail.getByRole('button', { name: 'Resync now' }).click()
  await expect(detail).not.toContainText(/sent again in/, { timeout: 20_000 })
  await expect(detail).toContainText('Transient: refused for')
  await expect.poll(async () => (await streams()).flatMap((each) => each.refused).length, { timeout: 20_000 }).toBe(0)
})

test('a zone that is cut off is offline within seconds, and back in sync when it is let in again', async ({ page, demo }) => {
  await page.goto('/')
  await setSwitch(page, 'east is cut off', true)
  await page.goto('/streams')
  await expect(page.getByRole('heading', { name: '1 zone', exact: true })).toBeVisible({ timeout: 15_000 })
  await page.goto('/insights?type=ZoneInsight')
  await expect(page.getByRole('row', { name: /east/ })).toContainText('offline', { timeout: 15_000 })
  await page.goto('/')
  await setSwitch(page, 'east is cut off', false)
  await page.goto('/streams')
  await expect(page.getByRole('heading', { name: '2 zones', exact: true })).toBeVisible({ timeout: 40_000 })
  expect(await (await fetch(`${demo.url}/metrics`)).text()).toContain('tidewatch_unhandled_rejections_total 0')
})
