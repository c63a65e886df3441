import { AxeBuilder } from '@axe-core/playwright'
import { freePort } from './simulated-cluster.ts'
import { expect, startTidewatch, test as base, type Tidewatch } from './tidewatch.ts'

/** A zone whose global is away, and watchers of a cluster that is: links in every state that trouble has. */
const test = base.extend<object, { zone: Tidewatch }>({
  zone: [
    async ({}, use) => {
      const zone = await startTidewatch({
        flags: ['--mode', 'zone', '--zone', 'east', '--global-address', `127.0.0.1:${await freePort()}`],
      })
      await use(zone)
      await zone.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ zone }, use) => {
    await use(zone.url)
  },
})

test('a link that finds nobody says so, counts down to its next try, and is tried at once when asked', async ({ page, zone }) => {
  await page.goto('/watchers')
  const row = page.getByRole('row', { name: /kds\/global/ })
  await expect(row).toContainText('the global control plane of zone east')
  await expect(row).toContainText(/(attempt|probe) \d+, next in/, { timeout: 30_000 })
  await row.getByRole('button').click()
  const detail = page.getByRole('region', { name: 'Link kds/global' })
  await expect(detail).toContainText('network since')
  await expect(detail).toContainText('Check that a global control plane listens on')
  const tried = async () =>
    (await zone.call<{ requests: Record<string, number> }>('links.get', { id: 'kds/global' })).requests['UNAVAILABLE'] ?? 0
  const before = await tried()
  await detail.getByRole('button', { name: 'Retry now' }).click()
  await expect.poll(tried, { timeout: 15_000 }).toBeGreaterThan(before)
})

test('a link is paused with a reason that others read, and resumed', async ({ page }) => {
  await page.goto('/watchers?link=kds%2Fglobal')
  const detail = page.getByRole('region', { name: 'Link kds/global' })
  await detail.getByRole('button', { name: 'Pause' }).click()
  await detail.getByRole('textbox', { name: 'Why' }).fill('moving it')
  await detail.getByRole('button', { name: 'Pause it' }).click()
  const row = page.getByRole('row', { name: /kds\/global/ })
  await expect(row).toContainText(/paused by operator/)
  await expect(row).toContainText('moving it')
  await page.getByRole('button', { name: /^paused 1$/ }).click()
  await expect(row).toBeVisible()
  await detail.getByRole('button', { name: 'Resume' }).click()
  await expect(page.getByRole('button', { name: /^paused 0$/ })).toBeVisible()
})

test('its backoff is changed while it waits, for it alone, and a value that is at odds with another is refused', async ({ page, zone }) => {
  await page.goto('/watchers?link=kds%2Fglobal')
  const detail = page.getByRole('region', { name: 'Link kds/global' })
  await detail.getByRole('button', { name: 'Edit policy' }).click()
  await detail.getByRole('textbox', { name: 'Longest wait' }).fill('2 min')
  await detail.getByRole('button', { name: 'Apply' }).click()
  await expect(detail.getByRole('alert')).toContainText('must be below')
  await detail.getByRole('textbox', { name: 'Longest wait' }).fill('10 s')
  await detail.getByRole('button', { name: 'Apply' }).click()
  await expect(detail).toContainText('up to 10 s', { timeout: 10_000 })
  const { policy } = await zone.call<{ policy: { maxBackoffMs: unknown } }>('links.get', { id: 'kds/global' })
  expect(policy.maxBackoffMs).toEqual({ value: 10_000, overridden: true })
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the page is free of what axe finds, in ${colorScheme}, and fits a narrow screen`, async ({ page }) => {
    await page.emulateMedia({ colorScheme })
    await page.goto('/watchers?link=kds%2Fglobal')
    await expect(page.getByRole('region', { name: 'Link kds/global' })).toContainText('Backoff')
    const { violations } = await new AxeBuilder({ page }).analyze()
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth))
      .toBeLessThanOrEqual(0)
  })
}

test('nothing watched is said, with what to write to watch something', async ({ browser }) => {
  const alone = await startTidewatch()
  const page = await browser.newPage({ baseURL: alone.url })
  await page.goto('/watchers')
  await expect(page.getByText('Nothing is watched yet')).toBeVisible()
  await expect(page.getByText('apiVersion: v1, kind: Node')).toBeVisible()
  await page.close()
  await alone.stop()
})
