import type { Browser, Locator, Page } from '@playwright/test'
import { parseAllDocuments } from 'yaml'
import type { LinkDetail } from '../../server/model/link-row.ts'
import type { InsightDetail, InsightRow } from '../../server/model/views.ts'
import { expect, startTidewatch, test as base, type Tidewatch } from '../tidewatch.ts'
import { kubeApi, type RealKubernetes, startKubernetes } from './kubernetes.ts'

const NAMESPACE = `tidewatch-test-${process.pid}`
const GROUP = `${NAMESPACE}.example.com`
const IN_NAMESPACE = `/api/v1/namespaces/${NAMESPACE}`
const CONFIG_MAPS = `${IN_NAMESPACE}/configmaps`
const WIDGETS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/widgets`
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
const MANY = 5_000

/** One cluster and one Tidewatch for all that follows, in order: each test leaves both well. */
const test = base.extend<object, { world: World }>({
  world: [
    async ({ browser }, use) => {
      const world = await startWorld(browser)
      await use(world)
      await world.stop()
    },
    { scope: 'worker', timeout: 120_000 },
  ],
})
test.describe.configure({ mode: 'serial' })

interface World {
  readonly cluster: RealKubernetes
  readonly tidewatch: Tidewatch
  readonly admin: ReturnType<typeof kubeApi>
  /** Its row on the Watchers page, which is open all along. */
  row(id: string): Locator
  /** What that page said of states and health, all along, without numbers: `maps: attempt #, next in #`, `maps: unhealthy`. */
  shown(): Promise<readonly string[]>
  /** Until the page says it is live, and nothing else of it. */
  expectWell(id: string): Promise<void>
  link(id: string): Promise<LinkDetail>
  /** Until it is live, and what we have is what the server has: names and versions. */
  expectEqual(watcher: string, kind: string, path: string): Promise<void>
  stop(): Promise<void>
}

async function startWorld(browser: Browser): Promise<World> {
  const cluster = await startKubernetes()
  const admin = kubeApi(cluster.kubeconfig)
  const viewer = admin.hasContext('viewer')
    ? `\n  - { id: viewer, context: viewer, apiVersion: v1, kind: ConfigMap, namespace: ${NAMESPACE} }`
    : ''
  const held = admin.hasContext('held') ? `\n  - { id: held, context: held, apiVersion: v1, kind: ConfigMap, namespace: ${NAMESPACE} }` : ''
  await admin.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  const tidewatch = await startTidewatch({
    file: 'server/main.ts',
    config: `kubeconfig: ${cluster.kubeconfig}
watchers:
  - { id: maps, apiVersion: v1, kind: ConfigMap, namespace: ${NAMESPACE} }
  - { id: widgets, apiVersion: ${GROUP}/v1, kind: Widget }
  - { id: leases, apiVersion: coordination.k8s.io/v1, kind: Lease, namespace: ${NAMESPACE} }${viewer}${held}
settings: { link.maxBackoffMs: 2000, link.unhealthyAfterMs: 4000 }
`,
  })
  const page = await browser.newPage()
  await keepBadges(page)
  await page.goto(`${tidewatch.url}/watchers`)
  const world: World = {
    cluster,
    tidewatch,
    admin,
    row: (id) => page.getByRole('row').filter({ has: page.getByRole('button', { name: id, exact: true }) }),
    shown: () => badgesOf(page),
    async expectWell(id) {
      await expect(world.row(id)).toContainText('live for', { timeout: 30_000 })
      await expect(world.row(id)).not.toContainText(/degraded|unhealthy/)
    },
    link: (id) => tidewatch.call<LinkDetail>('links.get', { id }),
    async expectEqual(watcher, kind, path) {
      await expect.poll(async () => (await world.link(watcher)).state.kind, { timeout: 30_000 }).toBe('live')
      await expect
        .poll(
          async () => {
            const [ours, theirs] = [await versionsOf(tidewatch, watcher, kind), await admin.list(path)]
            const missing = theirs.filter(({ metadata }) => ours.get(`${metadata.namespace}/${metadata.name}`) !== metadata.resourceVersion)
            return { missing: missing.length, ours: ours.size }
          },
          { timeout: 30_000 },
        )
        .toEqual({ missing: 0, ours: (await admin.list(path)).length })
    },
    async stop() {
      await page.close()
      await tidewatch.stop()
      await admin.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`).catch(() => undefined)
      await admin.delete(`/api/v1/namespaces/${NAMESPACE}`).catch(() => undefined)
      await cluster.stop()
    },
  }
  return world
}

/** From here on the page notes each badge as it is drawn, however short its time; and a wait that counts down. */
async function keepBadges(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const badges = new Set<string>()
    const waits = new Map<string, string>()
    Object.assign(globalThis, { badges })
    const note = () => {
      for (const row of document.querySelectorAll('tbody tr')) {
        const id = row.querySelector('th button')?.textContent
        for (const { textContent: text } of row.querySelectorAll('td:nth-child(2) > div:first-child > span')) {
          badges.add(`${id}: ${text.replaceAll(/\d+([.:]\d+)*( (ms|s|min)\b)?( \d+ s\b)?/g, '#')}`)
          const [, attempt] = /^(.*), next in /.exec(text) ?? []
          if (attempt === undefined) continue
          const before = waits.get(`${id} ${attempt}`)
          if (before !== undefined && before !== text) badges.add(`${id}: counts down`)
          waits.set(`${id} ${attempt}`, text)
        }
      }
    }
    new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true })
  })
}

function badgesOf(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => [...(globalThis as typeof globalThis & { readonly badges: Set<string> }).badges])
}

/** By `namespace/name`. */
async function versionsOf(tidewatch: Tidewatch, watcher: string, type: string): Promise<Map<string, string>> {
  const versions = new Map<string, string>()
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: { items: readonly InsightRow[]; nextCursor: string | null } = await tidewatch.call('insights.list', {
      type,
      limit: 1_000,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { key, version } of page.items)
      if (key.name.startsWith(`${watcher}/`)) versions.set(key.name.slice(watcher.length + 1), version)
    cursor = page.nextCursor
  }
  return versions
}

const configMap = (name: string, v = '1') => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { v } })

async function createMany(admin: World['admin'], prefix: string, count: number) {
  let next = 0
  const work = async () => {
    for (let index = next++; index < count; index = next++) await admin.create(CONFIG_MAPS, configMap(`${prefix}-${index}`))
  }
  await Promise.all(Array.from({ length: 16 }, work))
}

/** How often everything was read after 410, and in how many answers lists came. A server that restarts may forget what we had. */
async function listsOf({ link }: World) {
  const { relists, requestsByVerb } = await link('maps')
  return { gone: relists['gone'] ?? 0, answers: requestsByVerb['list']?.['200'] ?? 0 }
}

/** Leaves the watcher behind while something happens to the server. */
async function whilePaused({ tidewatch, row }: World, id: string, happen: () => Promise<void>) {
  await tidewatch.mutate('links.pause', { id })
  await expect(row(id)).toContainText('paused by operator')
  await happen()
  await tidewatch.mutate('links.resume', { id })
}

test('a kind whose definition is missing is named, and followed once it is installed', async ({ world, page }) => {
  const { admin, tidewatch, row } = world
  await expect(row('widgets')).toContainText('degraded', { timeout: 15_000 })
  await expect(row('widgets')).toContainText('not found')
  await page.goto(`${tidewatch.url}/watchers?link=widgets`)
  await expect(page.getByRole('region', { name: 'Link widgets' })).toContainText('CustomResourceDefinition of Widget')
  await admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  })
  await world.expectWell('widgets')
})

test('a server that takes connections and says nothing is being connected to until it answers', async ({ world }) => {
  const { cluster, row, tidewatch } = world
  test.skip(cluster.kit === undefined, 'needs a context `held`')
  await world.expectWell('held')
  cluster.kit!.hold(true)
  await tidewatch.mutate('links.retryNow', { id: 'held' })
  await expect(row('held')).toContainText('connecting')
  cluster.kit!.hold(false)
  await world.expectWell('held')
})

test('what is created, changed and deleted is followed', async ({ world }) => {
  const { admin } = world
  for (let index = 0; index < 20; index++) await admin.create(CONFIG_MAPS, configMap(`a-${index}`))
  for (let index = 0; index < 5; index++) await admin.patch(`${CONFIG_MAPS}/a-${index}`, { data: { v: '2' } })
  for (let index = 5; index < 8; index++) await admin.delete(`${CONFIG_MAPS}/a-${index}`)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  expect((await world.link('maps')).relists).toEqual({ start: 1 })
})

test('a lease is fresh while it is renewed and stale past its duration', async ({ world, page }) => {
  const { admin, tidewatch } = world
  const renewed = () => new Date().toISOString().replace('Z', '000Z')
  const spec = { holderIdentity: 'us', leaseDurationSeconds: 3 }
  await admin.create(LEASES, { metadata: { name: 'l1' }, spec: { ...spec, renewTime: renewed() } })
  const freshness = async () =>
    (await tidewatch.call<{ items: InsightRow[] }>('insights.list', { type: 'Lease' })).items.find(({ key }) => key.name.endsWith('/l1'))
      ?.freshness
  await expect.poll(freshness).toBe('fresh')
  await expect.poll(freshness, { timeout: 8_000 }).toBe('stale')
  await page.goto(`${tidewatch.url}/insights?type=Lease`)
  await expect(page.getByTitle(`${NAMESPACE}/l1`)).toBeVisible()
  await expect(page.getByText(/stale/i).first()).toBeVisible()
  await admin.patch(`${LEASES}/l1`, { spec: { renewTime: renewed() } })
  await expect.poll(freshness).toBe('fresh')
})

test('two managers that write one status in turn are named', async ({ world }) => {
  const { admin, tidewatch } = world
  await admin.create(WIDGETS, { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name: 'w1' }, spec: {} })
  for (let turn = 0; turn < 5; turn++)
    await admin.patch(`${WIDGETS}/w1/status?fieldManager=writer-${turn % 2 === 0 ? 'a' : 'b'}`, {
      status: { observedGeneration: 1, conditions: [{ type: 'Ready', status: turn % 2 === 0 ? 'True' : 'False' }] },
    })
  const detail = () =>
    tidewatch.call<InsightDetail>('insights.get', { key: { type: 'Widget', mesh: '', name: `widgets/${NAMESPACE}/w1` } }).catch(() => null)
  await expect.poll(async () => (await detail())?.note ?? '').toMatch(/writer-[ab] and writer-[ab] write its status in turn/)
  await expect.poll(async () => (await detail())?.row).toMatchObject({ writer: 'writer-a', freshness: 'fresh' })
})

test('access that is missing is named with the rule that grants it, pasted back as the page has it; revoked and granted again', async ({
  world,
  page,
}) => {
  const { admin, row, tidewatch } = world
  test.skip(!admin.hasContext('viewer'), 'needs a context `viewer` without rights')
  await expect(row('viewer')).toContainText('degraded', { timeout: 15_000 })
  await expect(row('viewer')).toContainText('forbidden')
  await page.goto(`${tidewatch.url}/watchers?link=viewer`)
  const detail = page.getByRole('region', { name: 'Link viewer' })
  const rule = await detail.getByRole('region', { name: 'What to paste' }).innerText()
  const documents = parseAllDocuments(rule).map((document) => document.toJS() as { kind: string; metadata: { name: string } })
  expect(documents.map(({ kind }) => kind)).toEqual(['Role', 'RoleBinding'])
  const pathOf = (kind: string) =>
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/${kind === 'Role' ? 'roles' : 'rolebindings'}`
  for (const document of documents) await admin.create(pathOf(document.kind), document)
  await world.expectEqual('viewer', 'ConfigMap', CONFIG_MAPS)
  await world.expectWell('viewer')

  const binding = documents[1]!
  await admin.delete(`${pathOf('RoleBinding')}/${binding.metadata.name}`)
  await expect(async () => {
    // An open watch goes on; the next request is refused.
    await detail.getByRole('button', { name: 'Retry now' }).click()
    await expect(row('viewer')).toContainText('degraded', { timeout: 2_000 })
  }).toPass({ timeout: 20_000 })
  await admin.create(pathOf('RoleBinding'), binding)
  await world.expectEqual('viewer', 'ConfigMap', CONFIG_MAPS)
  await world.expectWell('viewer')
})

test('a crash is waited out together, and followed again after it', async ({ world }) => {
  const { kit } = world.cluster
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  test.setTimeout(120_000)
  await kit!.crash()
  await expect(world.row('maps')).toContainText('unhealthy', { timeout: 15_000 })
  await expect(world.row('maps')).toContainText(/(attempt|probe) \d+, next in|waiting for the probe of/)
  expect(await world.link('maps')).toMatchObject({ lastError: { class: 'network' } })
  await kit!.start()
  await world.admin.create(CONFIG_MAPS, configMap('after-crash'))
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  await world.expectWell('maps')
  // A server that restarts may have forgotten the version we had: then once, and not again, everything is read.
  const { start, gone = 0, ...others } = (await world.link('maps')).relists
  expect([start, others]).toEqual([1, {}])
  expect(gone).toBeLessThanOrEqual(1)
})

test('a graceful end is followed to its end, then waited out', async ({ world }) => {
  const { kit } = world.cluster
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  test.setTimeout(180_000)
  await world.expectWell('maps')
  const before = (await world.link('maps')).stateSince
  const restarted = kit!.restartGracefully()
  // The server keeps open watches for up to a minute: all that time the link is live.
  await new Promise((resolve) => setTimeout(resolve, 5_000))
  await expect(world.row('maps')).toContainText('live for')
  expect(await world.link('maps')).toMatchObject({ state: { kind: 'live' }, stateSince: before })
  await restarted
  await world.admin.create(CONFIG_MAPS, configMap('after-graceful'))
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
})

test(`a watch whose version was compacted reads ${MANY} objects again in one stream`, async ({ world }) => {
  const { kit } = world.cluster
  test.setTimeout(240_000)
  await createMany(world.admin, 'many', MANY)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  const before = await listsOf(world)
  await whilePaused(world, 'maps', async () => {
    await world.admin.delete(`${CONFIG_MAPS}/many-0`)
    await world.admin.create(CONFIG_MAPS, configMap('unseen'))
    await kit!.compact()
  })
  await expect.poll(async () => (await listsOf(world)).gone, { timeout: 30_000 }).toBe(before.gone + 1)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  // The whole list in one answer.
  expect((await listsOf(world)).answers).toBe(before.answers + 1)
})

test(`${MANY} objects are read by pages where the server has no streaming list`, async ({ world }) => {
  const { kit } = world.cluster
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  test.setTimeout(180_000)
  const before = await listsOf(world)
  await whilePaused(world, 'maps', async () => {
    await world.admin.create(CONFIG_MAPS, configMap('unseen-2'))
    await kit!.compact()
    await kit!.restartWith(['--feature-gates=WatchList=false'])
  })
  await expect.poll(async () => (await listsOf(world)).gone, { timeout: 30_000 }).toBe(before.gone + 1)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  expect((await listsOf(world)).answers).toBeGreaterThanOrEqual(before.answers + MANY / 500)
  await kit!.restartWith([])
})

test('a store restored from an older backup is read again from nothing, and what it no longer has goes', async ({ world }) => {
  const { kit } = world.cluster
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  test.setTimeout(180_000)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  await kit!.backup()
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  await createMany(world.admin, 'lost', 300)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  await kit!.restore()
  await expect.poll(async () => (await world.link('maps')).relists['future_version'], { timeout: 60_000 }).toBe(1)
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  expect([...(await versionsOf(world.tidewatch, 'maps', 'ConfigMap')).keys()].filter((name) => name.includes('/lost-'))).toEqual([])
})

test('at the end everything is equal, and the page had shown every state on the way', async ({ world }) => {
  const { cluster } = world
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  await world.expectEqual('widgets', 'Widget', `/apis/${GROUP}/v1/widgets`)
  await world.expectEqual('leases', 'Lease', LEASES)
  const shown = await world.shown()
  console.log(`shown on the way: ${shown.toSorted().join(' | ')}`)
  expect(shown).toEqual(
    expect.arrayContaining(['widgets: attempt #, next in #', 'widgets: counts down', 'widgets: degraded', 'widgets: live for #']),
  )
  if (cluster.kit === undefined) return
  expect(shown).toEqual(
    expect.arrayContaining([
      'held: connecting',
      'maps: reading everything',
      'maps: live for #',
      'maps: attempt #, next in #',
      'maps: probe #, next in #',
      'maps: counts down',
      'maps: unhealthy',
      expect.stringMatching(/^maps: paused by operator/),
      'viewer: attempt #, next in #',
      'viewer: degraded',
      'viewer: live for #',
      expect.stringMatching(/: waiting for the probe of #$/),
    ]),
  )
  const lanes = new Set((await world.link('maps')).history.map(({ lane }) => lane))
  expect([...lanes].sort()).toEqual(['live', 'paused', 'syncing', 'waiting'])
  for (const id of ['maps', 'widgets', 'leases', 'viewer', 'held']) await world.expectWell(id)
})
