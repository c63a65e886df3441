import type { Browser, Page } from '@playwright/test'
import { parseAllDocuments } from 'yaml'
import type { LinkDetail, LinkRow } from '../../server/model/link-row.ts'
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
  /** Everything its links were seen as, all along, by who asks the API. */
  readonly seen: Set<string>
  /** The badges that the Watchers page showed, all along: `maps: live`, without their numbers. */
  shown(): Promise<readonly string[]>
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
  await admin.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  const tidewatch = await startTidewatch({
    file: 'server/main.ts',
    config: `kubeconfig: ${cluster.kubeconfig}
watchers:
  - { id: maps, apiVersion: v1, kind: ConfigMap, namespace: ${NAMESPACE} }
  - { id: widgets, apiVersion: ${GROUP}/v1, kind: Widget }
  - { id: leases, apiVersion: coordination.k8s.io/v1, kind: Lease, namespace: ${NAMESPACE} }${viewer}
settings: { link.maxBackoffMs: 2000, link.unhealthyAfterMs: 4000 }
`,
  })
  const page = await browser.newPage()
  await keepBadges(page)
  await page.goto(`${tidewatch.url}/watchers`)
  const seen = new Set<string>()
  const looking = setInterval(() => void look(), 150)
  const linksOf = async () => (await tidewatch.call<{ items: LinkRow[] }>('links.list')).items

  async function look() {
    for (const { id, state, health, waitingFor } of await linksOf().catch(() => [])) {
      seen.add(`${id} ${state.kind}`)
      seen.add(`${id} ${health}`)
      if (state.kind === 'waiting' && state.cause !== undefined) seen.add(`${id} waiting after ${state.cause}`)
      if (waitingFor !== null) seen.add('waiting for the probe')
    }
  }

  const world: World = {
    cluster,
    tidewatch,
    admin,
    seen,
    shown: () => badgesOf(page),
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
      clearInterval(looking)
      await page.close()
      await tidewatch.stop()
      await admin.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`).catch(() => undefined)
      await admin.delete(`/api/v1/namespaces/${NAMESPACE}`).catch(() => undefined)
      await cluster.stop()
    },
  }
  return world
}

/** From here on the page notes each badge as it is drawn, however short its time. */
async function keepBadges(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const badges = new Set<string>()
    Object.assign(globalThis, { badges })
    const note = () => {
      for (const row of document.querySelectorAll('tbody tr')) {
        const badge = row.querySelector('td span')?.textContent
        if (badge) badges.add(`${row.querySelector('th button')?.textContent}: ${badge.replace(/ \d.*/, '')}`)
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
async function whilePaused({ tidewatch }: World, id: string, happen: () => Promise<void>) {
  await tidewatch.mutate('links.pause', { id })
  await happen()
  await tidewatch.mutate('links.resume', { id })
}

test('a kind whose definition is missing is named, and followed once it is installed', async ({ world }) => {
  const { admin, link } = world
  await expect.poll(async () => (await link('widgets')).lastError?.class, { timeout: 15_000 }).toBe('not_found')
  expect(await link('widgets')).toMatchObject({
    health: 'degraded',
    lastError: { hint: expect.stringContaining('CustomResourceDefinition of Widget') },
  })
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
  await expect.poll(async () => (await link('widgets')).state.kind, { timeout: 30_000 }).toBe('live')
  expect((await link('widgets')).health).toBe('healthy')
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

test('access that is missing is named with the rule that grants it, pasted back as it is; revoked and granted again', async ({ world }) => {
  const { admin, link, tidewatch } = world
  test.skip(!admin.hasContext('viewer'), 'needs a context `viewer` without rights')
  await expect.poll(async () => (await link('viewer')).lastError?.class, { timeout: 15_000 }).toBe('forbidden')
  const { health, lastError } = await link('viewer')
  expect(health).toBe('degraded')
  const documents = parseAllDocuments(lastError!.hint).map((document) => document.toJS() as { kind: string; metadata: { name: string } })
  expect(documents.map(({ kind }) => kind)).toEqual(['Role', 'RoleBinding'])
  const pathOf = (kind: string) =>
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/${kind === 'Role' ? 'roles' : 'rolebindings'}`
  for (const document of documents) await admin.create(pathOf(document.kind), document)
  await world.expectEqual('viewer', 'ConfigMap', CONFIG_MAPS)
  expect((await link('viewer')).health).toBe('healthy')

  const binding = documents[1]!
  await admin.delete(`${pathOf('RoleBinding')}/${binding.metadata.name}`)
  await expect
    .poll(
      async () => {
        // An open watch goes on; the next request is refused.
        await tidewatch.mutate('links.retryNow', { id: 'viewer' })
        return (await link('viewer')).health
      },
      { timeout: 15_000, intervals: [500] },
    )
    .toBe('degraded')
  await admin.create(pathOf('RoleBinding'), binding)
  await world.expectEqual('viewer', 'ConfigMap', CONFIG_MAPS)
})

test('a crash is waited out together, and followed again after it', async ({ world }) => {
  const { kit } = world.cluster
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  test.setTimeout(120_000)
  await kit!.crash()
  await expect.poll(async () => (await world.link('maps')).health, { timeout: 15_000 }).toBe('unhealthy')
  expect(await world.link('maps')).toMatchObject({
    lastError: { class: 'network' },
    state: { kind: expect.stringMatching(/waiting|connecting/) },
  })
  await kit!.start()
  await world.admin.create(CONFIG_MAPS, configMap('after-crash'))
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  expect(await world.link('maps')).toMatchObject({ health: 'healthy', relists: { start: 1 } })
})

test('a graceful end is followed to its end, then waited out', async ({ world }) => {
  const { kit } = world.cluster
  test.skip(kit === undefined, 'a given cluster is not broken on purpose')
  test.setTimeout(180_000)
  const before = (await world.link('maps')).stateSince
  const restarted = kit!.restartGracefully()
  // The server keeps open watches for up to a minute: all that time the link is live.
  await new Promise((resolve) => setTimeout(resolve, 5_000))
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
  const { cluster, seen } = world
  await world.expectEqual('maps', 'ConfigMap', CONFIG_MAPS)
  await world.expectEqual('widgets', 'Widget', `/apis/${GROUP}/v1/widgets`)
  await world.expectEqual('leases', 'Lease', LEASES)
  const lanes = new Set((await world.link('maps')).history.map(({ lane }) => lane))
  expect([...seen].sort()).toEqual(
    expect.arrayContaining(['widgets waiting after not_found', 'widgets degraded', 'widgets live', 'widgets healthy', 'maps live']),
  )
  if (cluster.kit !== undefined) {
    expect([...lanes].sort()).toEqual(['live', 'paused', 'syncing', 'waiting'])
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        'maps waiting after network',
        'maps unhealthy',
        'maps paused',
        'viewer waiting after forbidden',
        'viewer degraded',
        'viewer healthy',
        'waiting for the probe',
      ]),
    )
  }
  const shown = await world.shown()
  console.log(`shown on the way: ${shown.toSorted().join(', ')}`)
  expect(shown).toEqual(expect.arrayContaining(['widgets: attempt', 'widgets: live for']))
  if (cluster.kit !== undefined)
    expect(shown).toEqual(
      expect.arrayContaining([
        'maps: attempt',
        'maps: probe',
        'maps: reading everything',
        'maps: live for',
        expect.stringMatching(/^maps: paused by operator/),
        'viewer: attempt',
        'viewer: live for',
      ]),
    )
  expect(shown.filter((badge) => badge.includes('waiting for the probe of')).length > 0).toBe(cluster.kit !== undefined)
})
