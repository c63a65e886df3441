import { readFileSync } from 'node:fs'
import type { Locator, Page } from '@playwright/test'
import type { LinkRow } from '../server/model/link-row.ts'
import { type SimulatedCluster, startSimulatedCluster } from './simulated-cluster.ts'
import { expect, startTidewatch, test as base, type Tidewatch } from './tidewatch.ts'

interface Watched {
  readonly cluster: SimulatedCluster
  readonly tidewatch: Tidewatch
  link(id: string): Promise<LinkRow>
}

/** A simulated cluster and a Tidewatch that watches it, with long waits: what a wait shows stays to be read. Each test leaves all well. */
const test = base.extend<object, { watched: Watched }>({
  watched: [
    async ({}, use) => {
      const cluster = await startSimulatedCluster()
      const tidewatch = await startTidewatch({
        config: `kubeconfig: ${cluster.kubeconfig}
watchers:
  - { id: nodes, apiVersion: v1, kind: Node }
  - { id: pods, apiVersion: v1, kind: Pod }
  - { id: deployments, apiVersion: apps/v1, kind: Deployment }
  - { id: jobs, apiVersion: batch/v1, kind: CronJob, freshness: { path: .status.lastSuccessfulTime, cadenceMs: 600000 } }
  - { id: hasty-jobs, apiVersion: batch/v1, kind: CronJob, freshness: { path: .status.lastSuccessfulTime, cadenceMs: 500 } }
  - { id: data-planes, apiVersion: kuma.io/v1alpha1, kind: DataplaneInsight }
settings: { link.baseBackoffMs: 20000, link.jitter: false }
`,
      })
      await use({ cluster, tidewatch, link: (id) => tidewatch.call<LinkRow>('links.get', { id }) })
      await tidewatch.stop()
      await cluster.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ watched }, use) => {
    await use(watched.tidewatch.url)
  },
})

const LINKS = 6
/** A comma of a CSV that parts two cells. */
const OUTSIDE_QUOTES = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/
const rowOf = (page: Page, id: string) => page.getByRole('row').filter({ has: page.getByRole('button', { name: id, exact: true }) })
const detailOf = (page: Page, id: string) => page.getByRole('region', { name: `Link ${id}` })
const insightOf = (page: Page, name: string) => page.getByRole('region', { name: `Insight of ${name}` })
const colorOf = (badge: Locator) => badge.evaluate((element) => getComputedStyle(element).backgroundColor)

/** Pods are refused while this runs, and followed again after it. */
async function whileForbidden({ cluster, tidewatch }: Watched, page: Page, look: () => Promise<void>) {
  await cluster.set('kube-forbidden', true)
  try {
    await tidewatch.mutate('links.retryNow', { id: 'pods' })
    await expect(rowOf(page, 'pods')).toContainText(/attempt \d+, next in .*forbidden: /, { timeout: 10_000 })
    await look()
  } finally {
    await cluster.set('kube-forbidden', false)
    await tidewatch.mutate('links.retryNow', { id: 'pods' })
  }
  await expect(rowOf(page, 'pods')).toContainText('live for', { timeout: 10_000 })
}

test('a wait counts down beside what is wrong and whose turn it is, and is over as soon as it is shortened', async ({ page, watched }) => {
  await page.goto('/watchers?link=pods')
  const [row, detail] = [rowOf(page, 'pods'), detailOf(page, 'pods')]
  await whileForbidden(watched, page, async () => {
    await expect(row).toContainText('degraded')
    const secondsLeft = async () => Number(/next in ([\d.]+) s/.exec(await row.innerText())?.[1])
    const first = await secondsLeft()
    await expect.poll(secondsLeft).toBeLessThan(first)
    await expect(detail.getByRole('region', { name: 'What to paste' })).toContainText('resources: ["pods"]')
    await expect(detail).toContainText('degraded since')
    const refused = async () => (await watched.link('pods')).requests['403'] ?? 0
    const dueAt = async () => (await watched.link('pods')).state.until
    const [before, due] = [await refused(), await dueAt()]
    await detail.getByRole('button', { name: 'Edit policy' }).click()
    await detail.getByRole('textbox', { name: 'First wait' }).fill('12 s')
    await detail.getByRole('button', { name: 'Apply' }).click()
    // The same wait, measured anew: it ends sooner, and then at once.
    await expect(detail).toContainText('12 s × 2')
    await expect.poll(dueAt).toBeLessThan(due!)
    await detail.getByRole('button', { name: 'Edit policy' }).click()
    await detail.getByRole('textbox', { name: 'First wait' }).fill('1 s')
    await detail.getByRole('button', { name: 'Apply' }).click()
    await expect.poll(refused).toBeGreaterThan(before)
  })
  await expect(row).not.toContainText('degraded')
  const { policy } = await watched.link('nodes')
  expect(policy.baseBackoffMs).toEqual({ value: 20_000, overridden: false })
})

test('a link is tried at once when asked, in the middle of its wait', async ({ page, watched }) => {
  await page.goto('/watchers?link=nodes')
  const [row, detail] = [rowOf(page, 'nodes'), detailOf(page, 'nodes')]
  await watched.cluster.set('kube-throttled', true)
  await watched.tidewatch.mutate('links.retryNow', { id: 'nodes' })
  await expect(row).toContainText(/attempt \d+, next in/, { timeout: 10_000 })
  await expect(row).toContainText('throttled')
  await watched.cluster.set('kube-throttled', false)
  await detail.getByRole('button', { name: 'Retry now' }).click()
  await expect(detail.getByRole('status')).toHaveText('Tried.')
  await expect(row).toContainText('live for')
  for (const id of ['pods', 'deployments', 'jobs', 'hasty-jobs', 'data-planes']) await watched.tidewatch.mutate('links.retryNow', { id })
  await expect(page.getByRole('button', { name: `live ${LINKS}` })).toBeVisible({ timeout: 10_000 })
})

test('a paused link looks like none that is live or waits, keeps its lane, and goes on when it is resumed', async ({ page }) => {
  await page.goto('/watchers?link=deployments')
  const [row, detail] = [rowOf(page, 'deployments'), detailOf(page, 'deployments')]
  await expect(row).toContainText('live for')
  await detail.getByRole('button', { name: 'Pause' }).click()
  await detail.getByRole('textbox', { name: 'Why' }).fill('rotating')
  await detail.getByRole('button', { name: 'Pause it' }).click()
  await expect(row).toContainText(/paused by .*“rotating”/)
  await expect(detail.getByRole('button', { name: 'Retry now' })).toHaveCount(0)
  expect(await colorOf(row.getByText('paused by'))).not.toBe(await colorOf(rowOf(page, 'jobs').getByText('live for')))
  const lane = row.getByRole('img', { name: /^last hour: .*paused/ })
  await expect(lane).toHaveAccessibleName(/live/)
  await expect(lane.locator('rect.fill-off')).toHaveCount(1)
  await detail.getByRole('button', { name: 'Resume' }).click()
  await expect(row).toContainText('live for')
})

test('links are found by what they do; the choice is in the address, and one that fits nothing says so', async ({ page, watched }) => {
  await page.goto('/watchers')
  const rows = page
    .getByRole('table')
    .getByRole('row')
    .filter({ has: page.getByRole('button') })
  await expect(rows).toHaveCount(LINKS)
  await page.getByRole('button', { name: 'paused 0' }).click()
  await expect(page.getByText('No link is like that now')).toBeVisible()
  await page.getByRole('button', { name: `Show all ${LINKS}` }).click()
  await expect(rows).toHaveCount(LINKS)
  await whileForbidden(watched, page, async () => {
    await page.getByRole('button', { name: 'in trouble 1' }).click()
    await expect(rows).toHaveCount(1)
    await page.reload()
    await expect(rows).toHaveCount(1)
    await expect(page.getByRole('button', { name: 'in trouble 1' })).toHaveAttribute('aria-pressed', 'true')
    await page.getByRole('button', { name: `live ${LINKS - 1}` }).click()
    await expect(rows).toHaveCount(LINKS - 1)
    await page.getByRole('button', { name: 'waiting 1' }).click()
    await expect(rowOf(page, 'pods').getByRole('img', { name: /degraded/ })).toBeVisible()
    await page.getByRole('button', { name: `all ${LINKS}` }).click()
  })
})

test('what the table shows is had as CSV, and no more than it shows', async ({ page, watched }) => {
  await page.goto('/watchers')
  const linesOf = async () => {
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toMatch(/^links-.*\.csv$/)
    return readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(OUTSIDE_QUOTES))
  }
  await expect(rowOf(page, 'pods')).toContainText('live for')
  const [header, ...lines] = await linesOf()
  const field = (line: readonly string[] | undefined, name: string) => line?.[header!.indexOf(name)]
  expect(lines.map((line) => field(line, 'id'))).toEqual(['data-planes', 'deployments', 'hasty-jobs', 'jobs', 'nodes', 'pods'])
  expect(lines.every((line) => line.length === header!.length)).toBe(true)
  const nodes = lines.find((line) => field(line, 'id') === 'nodes')
  const { endpoint, objects } = await watched.link('nodes')
  expect(['kind', 'endpoint', 'state', 'health', 'error', 'objects'].map((name) => field(nodes, name))).toEqual([
    'watch',
    endpoint,
    'live',
    'healthy',
    '',
    String(objects),
  ])
  await whileForbidden(watched, page, async () => {
    await page.getByRole('button', { name: 'in trouble 1' }).click()
    const [, pods, ...others] = await linesOf()
    expect(others).toEqual([])
    expect(['id', 'state', 'health', 'error'].map((name) => field(pods, name))).toEqual(['pods', 'waiting', 'degraded', 'forbidden'])
    expect(Date.parse(field(pods, 'next_try_at') ?? '')).toBeGreaterThan(0)
    expect(field(pods, 'requests')).toMatch(/403 \d/)
    await page.getByRole('button', { name: `all ${LINKS}` }).click()
  })
})

test('links that the server no longer tells of look stale, and current again once it does', async ({ page, watched }) => {
  await page.goto('/watchers')
  await expect(rowOf(page, 'pods')).toContainText('live for')
  const colorOfBadge = async () => colorOf(rowOf(page, 'pods').getByText('live for'))
  const greyed = () => page.getByRole('region', { name: 'Links' }).evaluate((element) => getComputedStyle(element).filter)
  const before = await colorOfBadge()
  expect(await greyed()).toBe('none')
  watched.tidewatch.signal('SIGSTOP')
  await expect(page.getByRole('region', { name: 'Age of the data' })).toContainText('No news from Tidewatch for', { timeout: 15_000 })
  expect(await greyed()).toBe('grayscale(1)')
  watched.tidewatch.signal('SIGCONT')
  await expect(page.getByRole('region', { name: 'Age of the data' })).toHaveCount(0, { timeout: 10_000 })
  await expect.poll(greyed).toBe('none')
  expect(await colorOfBadge()).toBe(before)
})

test('links that could not be read are not taken for none: it is said, and tried again when asked', async ({ page }) => {
  // What the server put into the page is lost on the way, and what is asked for then is not answered.
  await page.route('**/watchers', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replaceAll(/links(\\+",\\+")list/g, 'links$1lost') })
  })
  await page.route('**/api/trpc/links.list**', (route) => route.abort())
  await page.goto('/watchers')
  await expect(page.getByText('The links could not be read')).toBeVisible({ timeout: 15_000 })
  await expect(page.getByText('Tidewatch does not answer')).toBeVisible()
  await page.unroute('**/api/trpc/links.list**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(rowOf(page, 'pods')).toContainText('live for')
})

test('two managers that write one part in turn are named in its row and in its detail', async ({ page, watched }) => {
  await page.goto('/insights?type=Deployment')
  const row = page.getByRole('row', { name: /shop\/payments/ })
  await expect(row).toContainText('fresh')
  await watched.cluster.set('kube-contended', true)
  await expect(row).toContainText('argocd-controller, kustomize-controller write it in turn', { timeout: 25_000 })
  await row.click()
  const detail = insightOf(page, 'deployments/shop/payments')
  await expect(detail).toContainText(/(argocd|kustomize)-controller and (argocd|kustomize)-controller write it in turn/)
  await expect(detail).toContainText('Available is False')
  await expect(detail.getByRole('heading', { name: 'Last writes' })).toBeVisible()
  await watched.cluster.set('kube-contended', false)
})

test('a status that waits for a controller is behind since its generation moved, and says which one was seen', async ({
  page,
  watched,
}) => {
  await watched.cluster.set('kube-unobserved', true)
  await page.goto('/insights?type=Deployment&key=Deployment//deployments/shop/checkout')
  const detail = insightOf(page, 'deployments/shop/checkout')
  await expect(detail).toContainText(/Its controller has seen generation \d+ of it, and \d+ is asked for/, { timeout: 10_000 })
  await expect(page.getByRole('row', { name: /shop\/checkout/ })).toContainText('late', { timeout: 25_000 })
  await expect(detail).toContainText('behind: its status should follow within 10 s')
  await watched.cluster.set('kube-unobserved', false)
  await expect(page.getByRole('row', { name: /shop\/checkout/ })).toContainText('fresh', { timeout: 10_000 })
})

test('a moment in an object is judged by the cadence it was given: the same job is fresh by one and stale by another', async ({ page }) => {
  for (const [watcher, level, cadence] of [
    ['jobs', 'fresh', 'renewed every 10 min'],
    ['hasty-jobs', 'stale', 'renewed every 500 ms'],
  ] as const) {
    await page.goto(`/insights?type=CronJob&key=CronJob//${watcher}/shop/prune-carts`)
    const detail = insightOf(page, `${watcher}/shop/prune-carts`)
    await expect(detail).toContainText(cadence)
    await expect(detail).toContainText(`seen through${watcher}`)
    const rows = page.getByRole('row', { name: /shop\/prune-carts/ })
    await expect(rows.filter({ hasText: level }).first()).toBeVisible({ timeout: 10_000 })
  }
  await expect(insightOf(page, 'hasty-jobs/shop/prune-carts')).toContainText('Not renewed for')
})

test('an insight of a Kuma control plane is judged by the generation of its subscription, beside our own', async ({ page }) => {
  await page.goto('/insights?type=DataplaneInsight&key=DataplaneInsight//data-planes/shop/cart-v1')
  const detail = insightOf(page, 'data-planes/shop/cart-v1')
  await expect(detail).toContainText('renewed every 2 min 30 s')
  await expect(page.getByRole('row', { name: /shop\/cart-v1/ })).toContainText('fresh')
})
