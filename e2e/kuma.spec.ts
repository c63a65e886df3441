import { AxeBuilder } from '@axe-core/playwright'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RecordedKuma, startRecordedKuma } from '../server/kuma-api/testing/recorded-kuma.ts'
import { expect, startTidewatch, test as base, type Tidewatch } from './tidewatch.ts'

/** A running Kuma global that is attached: its answers are those of a real one, recorded. */
const test = base.extend<object, { kuma: RecordedKuma & { readonly tokenFile: string }; attached: Tidewatch }>({
  kuma: [
    async ({}, use) => {
      const kuma = await startRecordedKuma('v2.14-global')
      const tokenFile = join(mkdtempSync(join(tmpdir(), 'tidewatch-e2e-')), 'token')
      writeFileSync(tokenFile, kuma.token)
      await use(Object.assign(kuma, { tokenFile }))
      await kuma.stop()
    },
    { scope: 'worker' },
  ],
  attached: [
    async ({ kuma }, use) => {
      const attached = await startTidewatch({
        config: `kuma: [{ id: prod-global, url: "${kuma.url}", metricsUrl: "${kuma.url}/metrics", tokenFile: "${kuma.tokenFile}", intervalMs: 1000 }]`,
      })
      await use(attached)
      await attached.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ attached }, use) => {
    await use(attached.url)
  },
})

test('a Kuma control plane is a link of its own that says what it is and where its intervals are set', async ({ page }) => {
  await page.goto('/watchers?link=prod-global')
  await expect(page.getByRole('row', { name: /prod-global/ })).toContainText('live', { timeout: 15_000 })
  const detail = page.getByRole('region', { name: 'Link prod-global' })
  await expect(detail).toContainText('2.14.3')
  await expect(detail).toContainText('global')
  await expect(detail).toContainText('KUMA_XDS_SERVER_DATAPLANE_STATUS_FLUSH_INTERVAL')
})

test('its zones are read on Streams as remote, with their connections and the interval that is set over there', async ({ page }) => {
  await page.goto('/streams')
  const zones = page.getByRole('region', { name: 'Remote zones' })
  await expect(zones.getByRole('row', { name: /zone-1/ })).toContainText('6 of 8 online', { timeout: 15_000 })
  await zones.getByRole('button', { name: 'zone-1' }).click()
  const detail = page.getByRole('region', { name: 'Zone zone-1 of prod-global' })
  await expect(detail).toContainText('online since')
  await expect(detail).toContainText('controlPlane.envVars.KUMA_XDS_SERVER_DATAPLANE_STATUS_FLUSH_INTERVAL')
  await expect(detail.getByRole('row', { name: /CircuitBreaker/ })).toBeVisible()
  await page.reload()
  await detail.getByRole('link', { name: 'how fresh its status is' }).click()
  await expect(page.getByRole('region', { name: 'Insight of prod-global/zone-1' })).toContainText('Set over there', { timeout: 10_000 })
})

test('its data planes are listed beside our own, and one that rejects says what and where the reason is', async ({ page }) => {
  await page.goto('/insights?q=rejecting-dp')
  const row = page.getByRole('row', { name: /rejecting-dp/ })
  await expect(row).toContainText('fresh', { timeout: 15_000 })
  await row.click()
  const detail = page.getByRole('region', { name: 'Insight of prod-global/zone-1/rejecting-dp' })
  await expect(detail).toContainText('Has rejected')
  await expect(detail).toContainText('KUMA_XDS_SERVER_NACK_BACKOFF')
  await expect(detail).toContainText('no heartbeat of a data plane travels to a global')
})

test('while it is down its link counts down to the next probe and nothing of it is called stale; then all is as before', async ({
  page,
  kuma,
  attached,
}) => {
  await kuma.stop()
  await attached.mutate('links.retryNow', { id: 'prod-global' })
  await page.goto('/watchers?link=prod-global')
  const row = page.getByRole('row', { name: /prod-global/ })
  await expect(row).toContainText(/(attempt|probe) \d+, next in/, { timeout: 15_000 })
  await expect(page.getByRole('region', { name: 'Link prod-global' })).toContainText('Nothing listens at')
  await kuma.start()
  await expect(row).toContainText('live', { timeout: 30_000 })
})

test('a token that has expired is told of with what to run; a new one in its place is taken', async ({ page, kuma, attached }) => {
  writeFileSync(kuma.tokenFile, 'expired')
  await attached.mutate('links.retryNow', { id: 'prod-global' })
  await page.goto('/watchers?link=prod-global')
  const detail = page.getByRole('region', { name: 'Link prod-global' })
  await expect(detail).toContainText('unauthorized since', { timeout: 15_000 })
  await expect(detail).toContainText('kumactl generate user-token')
  await page.goto('/insights?q=online-dp')
  await expect(page.getByRole('row', { name: /online-dp/ }).first()).toContainText('unknown', { timeout: 15_000 })
  writeFileSync(kuma.tokenFile, kuma.token)
  await attached.mutate('links.retryNow', { id: 'prod-global' })
  await expect(page.getByRole('row', { name: /online-dp/ }).first()).toContainText('fresh', { timeout: 15_000 })
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`Streams with a remote zone open is free of what axe finds, in ${colorScheme}, and fits a narrow screen`, async ({ page }) => {
    await page.emulateMedia({ colorScheme })
    await page.goto('/streams?remote=prod-global%2Fzone-1')
    await expect(page.getByRole('region', { name: 'Zone zone-1 of prod-global' })).toBeVisible({ timeout: 15_000 })
    const { violations } = await new AxeBuilder({ page }).analyze()
    expect(violations).toEqual([])
    await page.setViewportSize({ width: 360, height: 740 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
  })
}
