import { AxeBuilder } from '@axe-core/playwright'
import { expect, test } from './tidewatch.ts'

const pages = [
  { path: '/', heading: 'Overview', shows: /DataplaneInsight/ },
  { path: '/insights', heading: 'Insights', shows: /dataplane-sink/ },
  { path: '/sinks', heading: 'Sinks', shows: /dataplane/ },
  { path: '/watchers', heading: 'Watchers', shows: /Nothing is watched yet/ },
  { path: '/streams', heading: 'Streams', shows: /delta/ },
  { path: '/conflicts', heading: 'Conflicts', shows: /conflict/i },
] as const

for (const { path, heading, shows } of pages) {
  test(`${heading} carries data in its first paint`, async ({ request }) => {
    const html = await (await request.get(path)).text()
    expect(html).toMatch(shows)
  })

  for (const scheme of ['light', 'dark'] as const) {
    test(`${heading} has nothing that keeps anybody out, ${scheme}`, async ({ browser, baseURL }) => {
      const context = await browser.newContext({ baseURL, colorScheme: scheme, reducedMotion: 'reduce' })
      const page = await context.newPage()
      const problems: string[] = []
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text())
      })
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
      await expect(page.getByRole('status', { name: 'Live data' })).toContainText('Live')
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)).toEqual([])
      expect(problems).toEqual([])
      await context.close()
    })
  }

  test(`${heading} needs no sideways scrolling on a narrow screen or at 200 %`, async ({ browser, baseURL }) => {
    for (const width of [390, 720]) {
      const context = await browser.newContext({ baseURL, viewport: { width, height: 700 } })
      const page = await context.newPage()
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
      expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0)
      await context.close()
    }
  })
}

test('every page is reached by keyboard alone', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByRole('status', { name: 'Live data' })).toContainText('Live')
  for (const [keys, heading] of [
    ['gi', 'Insights'],
    ['gs', 'Sinks'],
    ['gw', 'Watchers'],
    ['gt', 'Streams'],
    ['gc', 'Conflicts'],
    ['go', 'Overview'],
  ] as const) {
    for (const key of keys) await page.keyboard.press(key)
    await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
  }
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toBeHidden()
})

test('a stream is found by keyboard, opened by its name, sent everything again, and has a link of its own', async ({ page, tidewatch }) => {
  const sessions = async () => (await tidewatch.call<{ items: { subject: { name: string } }[] }>('sessions.list')).items
  await expect.poll(async () => (await sessions()).length).toBeGreaterThan(0)
  const { name } = (await sessions())[0]!.subject
  await page.goto('/streams')
  await expect(page.getByRole('status', { name: 'Live data' })).toContainText('Live')
  await page.keyboard.press('/')
  await page.keyboard.type(name)
  await page.getByRole('button', { name, exact: true }).last().click()
  const detail = page.getByRole('region', { name: `Stream of ${name}` })
  await detail.getByRole('button', { name: 'Resync now' }).click()
  await expect(detail.getByRole('status')).toHaveText('Sent again.')
  expect(await (await page.request.get(page.url())).text()).toContain(`Stream of ${name}`)
  await page.reload()
  await expect(detail).toContainText('Subscriptions')
  await expect(page.getByRole('status', { name: 'Live data' })).toContainText('Live')
  // What is drawn first listens to keys a moment later.
  await expect(async () => {
    await page.keyboard.press('Escape')
    await expect(detail).toBeHidden({ timeout: 500 })
  }).toPass()
})
