import type { InsightDetail, InsightRow, SessionRow } from '../server/model/views.ts'
import { setSwitch } from './switches.ts'
import { expect, startTidewatch, test as base, type Tidewatch } from './tidewatch.ts'

/** Journeys through the demo: its own fleet, faults switched on the page as a newcomer would. */
const test = base.extend<object, { demo: Tidewatch }>({
  demo: [
    async ({}, use) => {
      const demo = await startTidewatch({ flags: ['--demo'] })
      await expect.poll(async () => (await demo.call<{ total: number }>('insights.list')).total, { timeout: 30_000 }).toBeGreaterThan(190)
      await use(demo)
      await demo.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ demo }, use) => {
    await use(demo.url)
  },
})

test('the fleet is labelled as simulated, and half of it speaks delta', async ({ page, demo }) => {
  await page.goto('/')
  await expect(page.getByRole('heading', { name: 'Simulated fleet' })).toBeVisible()
  const { items } = await demo.call<{ items: SessionRow[] }>('sessions.list')
  const delta = items.filter(({ variant }) => variant === 'delta').length
  expect(delta).toBeGreaterThan(items.length / 4)
  expect(delta).toBeLessThan((items.length * 3) / 4)
})

test('the reason of a data plane that refuses its listeners is read on Streams', async ({ page }) => {
  await page.goto('/streams')
  await expect(page.getByText(/filter chain match is not unique/).first()).toBeVisible({ timeout: 15_000 })
})

test('a NACK wave is seen, and over when it is switched off', async ({ page, demo }) => {
  const rejecting = async () => (await demo.call<{ counters: { rejecting: number } }>('overview.counters')).counters.rejecting
  await page.goto('/')
  await setSwitch(page, 'NACK wave', true)
  await expect.poll(rejecting, { timeout: 15_000 }).toBeGreaterThan(40)
  await setSwitch(page, 'NACK wave', false)
  await expect.poll(rejecting, { timeout: 15_000 }).toBeLessThan(10)
})

test('a mass reconnect is over within seconds, with everybody back', async ({ page, demo }) => {
  await page.goto('/')
  await expect(page.getByRole('status', { name: 'Live data' })).toContainText('Live')
  await page.getByRole('switch', { name: 'Mass reconnect' }).click()
  await expect(page.getByRole('switch', { name: 'Mass reconnect' })).not.toBeChecked({ timeout: 15_000 })
  await expect
    .poll(async () => (await demo.call<{ items: unknown[] }>('sessions.list')).items.length, { timeout: 15_000 })
    .toBeGreaterThan(190)
})

test('in a conflict storm the page names both writers within seconds, and neither loses its fields', async ({ page, demo }) => {
  await page.goto('/')
  await setSwitch(page, 'Conflict storm', true)
  await page.goto('/conflicts')
  const matrix = page.getByRole('table').first()
  await expect(matrix).toContainText('dataplane-sink', { timeout: 20_000 })
  await expect(matrix).toContainText('identity')
  const desktop = page.viewportSize()
  await page.setViewportSize({ width: 390, height: 844 })
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth))
    .toBeLessThanOrEqual(0)
  if (desktop) await page.setViewportSize(desktop)
  await page.goto('/')
  await expect(page.getByText(/benign \d*[1-9]/).first()).toBeVisible({ timeout: 15_000 })
  expect(await (await fetch(`${demo.url}/metrics`)).text()).toMatch(
    /tidewatch_store_conflicts_total\{writer="identity",lost_to="dataplane-sink",type="DataplaneInsight",severity="benign"\} [1-9]/,
  )

  const { items } = await demo.call<{ items: InsightRow[] }>('insights.list', { type: 'DataplaneInsight', limit: 50 })
  const details = await Promise.all(
    items
      .filter(({ online, source }) => online && source === null)
      .map(({ key }) => demo.call<InsightDetail>('insights.get', { key }).catch(() => undefined)),
  )
  const known = details.filter((detail) => detail !== undefined)
  expect(known.length).toBeGreaterThan(20)
  for (const { subscriptions, mtls } of known) {
    expect(subscriptions.length).toBeGreaterThan(0)
    expect(mtls?.certificateRegenerations).toBeGreaterThan(0)
  }
  await setSwitch(page, 'Conflict storm', false)
})

test('nothing was rejected that nobody looked at', async ({ demo }) => {
  expect(await (await fetch(`${demo.url}/metrics`)).text()).toContain('tidewatch_unhandled_rejections_total 0')
})

test('pods that are forbidden are one degraded link with the rule to add, and live again once granted', async ({ page }) => {
  await page.goto('/')
  await setSwitch(page, 'prod-eu forbids pods', true)
  await page.goto('/watchers?link=prod-eu%2Fpods')
  const detail = page.getByRole('region', { name: 'Link prod-eu/pods' })
  await expect(detail).toContainText('forbidden since', { timeout: 15_000 })
  await expect(detail).toContainText('resources: ["pods"]')
  await expect(page.getByRole('row', { name: /prod-eu\/nodes/ })).toContainText('live')
  await page.goto('/')
  await setSwitch(page, 'prod-eu forbids pods', false)
  await page.goto('/watchers?link=prod-eu%2Fpods')
  await detail.getByRole('button', { name: 'Retry now' }).click()
  await expect(page.getByRole('row', { name: /prod-eu\/pods/ })).toContainText('live', { timeout: 15_000 })
})

test('an API server that is down is probed by one of its links while the others wait, and all are live again after it', async ({
  page,
}) => {
  await page.goto('/')
  await setSwitch(page, 'edge is down', true)
  await page.goto('/watchers')
  const rows = page.getByRole('row', { name: /edge\// })
  await expect(rows.first()).toContainText('context edge (simulated)')
  await expect(rows.filter({ hasText: /(attempt|probe) \d+, next in/ }).first()).toBeVisible({ timeout: 15_000 })
  await expect(rows.filter({ hasText: /waiting for the probe of/ }).first()).toBeVisible({ timeout: 15_000 })
  await expect(page.getByRole('row', { name: /prod-eu\/nodes/ })).toContainText('live')
  await page.goto('/')
  await setSwitch(page, 'edge is down', false)
  await page.goto('/watchers')
  await expect(rows.filter({ hasText: 'live' })).toHaveCount(2, { timeout: 20_000 })
})
