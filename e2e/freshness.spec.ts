import { populate } from '../server/demo/population.ts'
import type { InsightRow } from '../server/model/views.ts'
import { expect, startTidewatch, test } from './tidewatch.ts'

const pill = 'Live data'

test('an operator sees fresh insights, and a data plane that stops goes offline', async ({ page, tidewatch }) => {
  const [{ name } = { name: '' }] = populate(['default'], 1, 99)
  const fleet = await tidewatch.startFleet({ dataplanes: 1, seed: 99 })
  await page.goto('/insights?q=' + name)
  const row = page.getByRole('row', { name: new RegExp(name) })
  await expect(row).toContainText('fresh', { timeout: 15_000 })
  await fleet.stop()
  await expect(row).toContainText('offline', { timeout: 8_000 })
})

test('a row opens its detail, which says why it is as it is, and has a link of its own', async ({ page, tidewatch }) => {
  const { items } = await tidewatch.call<{ items: InsightRow[] }>('insights.list', { type: 'DataplaneInsight', limit: 1 })
  const { name } = items[0]!.key
  await page.goto('/insights?q=' + name)
  await page.getByRole('row', { name: new RegExp(name) }).click()
  const detail = page.getByRole('region', { name: `Insight of ${name}` })
  await expect(detail).toContainText('CDS')
  await page.reload()
  await expect(detail).toContainText('cadence')
  // The code of the detail comes later; what it shows is in the page from the start.
  expect(await (await page.request.get(page.url())).text()).toContain(`Insight of ${name}`)
})

test('a list draws the rows in view, down to its last by keyboard and up again by scrolling', async ({ page, tidewatch }) => {
  const fleet = await tidewatch.startFleet({ dataplanes: 60, seed: 7 })
  await page.setViewportSize({ width: 1280, height: 600 })
  await page.goto('/insights?sort=name')
  await expect(page.getByRole('status', { name: pill })).toContainText('Live')
  const grid = page.getByRole('grid', { name: 'Insights' })
  const rowAt = (index: string | null) => grid.locator(`[aria-rowindex="${index}"]`)
  await expect.poll(async () => Number(await grid.getAttribute('aria-rowcount'))).toBeGreaterThan(60)
  const last = await grid.getAttribute('aria-rowcount')
  await expect(rowAt(last)).toHaveCount(0)
  await grid.press('End')
  await expect(rowAt(last)).toBeInViewport({ ratio: 1 })
  await expect(rowAt('2')).toHaveCount(0)
  await grid.evaluate((element) => element.scrollTo({ top: 0 }))
  await expect(rowAt('2')).toBeInViewport({ ratio: 1 })
  await expect(rowAt('2')).toContainText('-sink')
  await fleet.stop()
})

test('a changed interval is in force for every session at once, and cadence and age follow', async ({ page, tidewatch }) => {
  await page.goto('/sinks')
  await page.getByRole('button', { name: 'Tune dataplane' }).click()
  await page.getByRole('textbox', { name: /Flush interval/ }).fill('500ms')
  await page.getByRole('textbox', { name: /Why/ }).fill('watch it follow')
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await expect(page.getByText(/In effect for all \d+ sessions/).first()).toBeVisible({ timeout: 10_000 })
  await expect(page.getByText('watch it follow')).toBeVisible()
  const { items } = await tidewatch.call<{ items: InsightRow[] }>('insights.list', { type: 'DataplaneInsight', limit: 50 })
  expect(new Set(items.map(({ cadenceMs }) => cadenceMs))).toEqual(new Set([500]))
  await page.goto('/')
  await expect(page.getByText(/every 500 ms|every 0\.5 s/).first()).toBeVisible()
})

test('of two operators who edit the same setting the second is told, and by whom it was changed', async ({ browser, baseURL }) => {
  const open = async (interval: string) => {
    const page = await (await browser.newContext({ baseURL })).newPage()
    await page.goto('/sinks')
    await page.getByRole('button', { name: 'Tune dataplane' }).click()
    await page.getByRole('textbox', { name: /Flush interval/ }).fill(interval)
    return page
  }
  const [first, second] = [await open('3 s'), await open('7 s')]
  await first.getByRole('button', { name: 'Apply', exact: true }).click()
  await expect(first.getByText(/In effect for all \d+ sessions/).first()).toBeVisible({ timeout: 15_000 })
  // Its form is open: it keeps what was typed, whatever happened meanwhile.
  await expect(second.getByRole('textbox', { name: /Flush interval/ })).toHaveValue('7 s')
  await second.getByRole('button', { name: 'Apply', exact: true }).click()
  await expect(second.getByText(/changed elsewhere/i).first()).toBeVisible()
  await expect(second.getByText(/operator-/).first()).toBeVisible()
})

test('a value out of range is refused at its field with the allowed range', async ({ page }) => {
  await page.goto('/sinks')
  await page.getByRole('button', { name: 'Tune dataplane' }).click()
  await page.getByRole('textbox', { name: /Flush interval/ }).fill('20 min')
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await expect(page.getByRole('alert').filter({ hasText: /10 min/ })).toBeVisible()
})

test.describe('a server that goes away', () => {
  test('is shown as stale while it hangs, and live again without a reload when it is back', async ({ page }) => {
    const tidewatch = await startTidewatch()
    await tidewatch.startFleet({ dataplanes: 5, seed: 5 })
    await page.goto(`${tidewatch.url}/`)
    await expect(page.getByRole('status', { name: pill })).toContainText('Live')
    tidewatch.signal('SIGSTOP')
    await expect(page.getByRole('status', { name: pill })).not.toContainText('Live ·', { timeout: 10_000 })
    tidewatch.signal('SIGCONT')
    await expect(page.getByRole('status', { name: pill })).toContainText('Live', { timeout: 10_000 })
    await tidewatch.stop()
  })

  test('and is restarted under an open page leaves no hole: the page says so, reconnects, and shows what is true now', async ({ page }) => {
    const tidewatch = await startTidewatch()
    await tidewatch.startFleet({ dataplanes: 5, seed: 5 })
    await page.goto(`${tidewatch.url}/insights?type=DataplaneInsight`)
    await expect(page.getByRole('row').nth(5)).toContainText('fresh', { timeout: 15_000 })
    const loadedAt = await page.evaluate(() => performance.timeOrigin)
    await tidewatch.restart('SIGKILL')
    await expect(page.getByRole('status', { name: pill })).toContainText('Live', { timeout: 3_000 })
    const second = await tidewatch.startFleet({ dataplanes: 2, seed: 77 })
    await expect
      .poll(async () => (await tidewatch.call<{ total: number }>('insights.list', { type: 'DataplaneInsight' })).total, { timeout: 15_000 })
      .toBe(7)
    await page
      .getByRole('button', { name: /refresh order/ })
      .click({ timeout: 3_000 })
      .catch(() => undefined)
    await expect(page.getByRole('grid')).toHaveAttribute('aria-rowcount', '8', { timeout: 15_000 })
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(loadedAt)
    await second.stop()
    await tidewatch.stop()
  })
})

test('fourteen tabs of one browser are all live', async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL })
  const tabs = await Promise.all(Array.from({ length: 14 }, () => context.newPage()))
  for (const tab of tabs) await tab.goto('/sinks')
  for (const tab of tabs) await expect(tab.getByRole('status', { name: pill })).toContainText('Live', { timeout: 15_000 })
  await context.close()
})

test('all counters come while a page draws them, and no longer', async ({ page }) => {
  const kinds: string[] = []
  page.on('websocket', (socket) =>
    socket.on('framereceived', ({ payload }) => {
      if (/"(counters|glance)":?/.test(String(payload))) kinds.push(String(payload).includes('"strips"') ? 'all' : 'glance')
    }),
  )
  await page.goto('/insights')
  await expect.poll(() => kinds.length).toBeGreaterThan(2)
  expect(new Set(kinds)).toEqual(new Set(['glance']))
  const pages = page.getByRole('navigation', { name: 'Pages' })
  await pages.getByRole('link', { name: 'Overview' }).click()
  await expect.poll(() => kinds.at(-1)).toBe('all')
  await expect(page.getByText(/DataplaneInsight/).first()).toBeVisible()
  await pages.getByRole('link', { name: 'Streams' }).click()
  await expect.poll(() => kinds.slice(-2)).toEqual(['glance', 'glance'])
})

test('nothing was rejected that nobody looked at', async ({ tidewatch }) => {
  expect(await (await fetch(`${tidewatch.url}/metrics`)).text()).toContain('tidewatch_unhandled_rejections_total 0')
})
