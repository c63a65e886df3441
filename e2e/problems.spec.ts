import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, startTidewatch, test as base, type Tidewatch } from './tidewatch.ts'

/** What goes wrong is read on Overview, and gone when it is over. This Tidewatch is really broken. */
const test = base.extend<object, { broken: Tidewatch }>({
  broken: [
    async ({}, use) => {
      const broken = await startTidewatch()
      for (const [key, value] of [
        ['sink.dataplane.flushIntervalMs', 500],
        ['insight.idleTimeoutMs', 4_000],
      ])
        await broken.mutate('settings.apply', { key, value, expectedVersion: '0' })
      await broken.startFleet({ dataplanes: 20, seed: 1 })
      await use(broken)
      await broken.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ broken }, use) => {
    await use(broken.url)
  },
})

test('a store that another process holds is told with its cause, and no more when it is let go', async ({ page, broken }) => {
  await page.goto('/')
  await expect(page.getByRole('heading', { name: 'Freshness' })).toBeVisible()
  const problems = page.getByRole('region', { name: 'Problems' })
  const other = new DatabaseSync(join(broken.dataDir, 'tidewatch.db'))
  try {
    other.exec('BEGIN IMMEDIATE')
    await expect(problems.getByRole('heading', { name: /disk is slow: a commit takes/ })).toBeVisible({ timeout: 6_000 })
    await expect(problems.getByRole('heading', { name: 'The store does not answer, so nothing is written' })).toBeVisible({
      timeout: 10_000,
    })
    await expect(problems).toContainText(/Since .*in use by another process/)
    expect((await fetch(`${broken.url}/readyz`)).status).toBe(503)
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0)
    await page.screenshot({ path: test.info().outputPath('broken.png') })
  } finally {
    other.close()
  }
  await expect(problems.getByRole('heading', { name: /store does not answer|disk is slow/ })).toHaveCount(0, { timeout: 8_000 })
  await expect.poll(async () => (await fetch(`${broken.url}/readyz`)).status).toBe(200)
})

test('a stop of the whole process is told when it is over, and the page is live again', async ({ page, broken }) => {
  await page.goto('/')
  await expect(page.getByRole('heading', { name: 'Freshness' })).toBeVisible()
  broken.signal('SIGSTOP')
  await wait(4_000)
  broken.signal('SIGCONT')
  await expect(page.getByRole('heading', { name: /^This process did not run for/ })).toBeVisible({ timeout: 5_000 })
})
