import { expect, test } from '@playwright/test'
import type { InsightRow, SessionRow, SettingRow } from '../../server/model/views.ts'
import { startTidewatch, type Tidewatch } from '../tidewatch.ts'
import { type Backend, type Envoy, type EnvoyOptions, freePort, startBackend, startEnvoy } from './envoy.ts'

const closing: (() => Promise<void>)[] = []
test.afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
async function keep<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const it = await starting
  closing.push(() => it.stop())
  return it
}

async function set(tidewatch: Tidewatch, key: string, value: number) {
  const { items } = await tidewatch.call<{ items: SettingRow[] }>('settings.list')
  const { version } = items.find((row) => row.key === key)!
  await tidewatch.mutate('settings.apply', { key, value, expectedVersion: version })
}
const sessionsOf = async (tidewatch: Tidewatch) => (await tidewatch.call<{ items: SessionRow[] }>('sessions.list')).items

interface World {
  readonly tidewatch: Tidewatch
  readonly envoys: Readonly<Record<'one' | 'two' | 'caller', Envoy>>
  readonly backends: Readonly<Record<'one' | 'two', Backend>>
  readonly inboundPort: number
  startTwo(): Promise<Envoy>
  ask(): Promise<string>
}

/** Two backends, each behind an Envoy's inbound, and a third Envoy whose outbound leads to them. */
async function startWorld(mesh: string, variant: EnvoyOptions['variant']): Promise<World> {
  const tidewatch = await keep(
    startTidewatch({ file: 'server/main.ts', config: 'meshes: [{ name: default }, { name: secure, mtls: { enabledBackend: builtin } }]' }),
  )
  await set(tidewatch, 'xds.deregistrationDelayMs', 500)
  const backends = { one: await keep(startBackend('one')), two: await keep(startBackend('two')) }
  const sidecar = async (name: 'one' | 'two', port: number) =>
    keep(
      startEnvoy({
        xds: tidewatch.xds,
        variant,
        mesh,
        name: `backend-${name}`,
        networking: {
          address: '127.0.0.1',
          inbound: [{ port, servicePort: backends[name].port, tags: { 'kuma.io/service': 'backend' } }],
          outbound: [],
        },
      }),
    )
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const one = await sidecar('one', ports[0])
  const two = await sidecar('two', ports[1])
  const caller = await keep(
    startEnvoy({
      xds: tidewatch.xds,
      variant,
      mesh,
      name: 'caller',
      networking: { address: '127.0.0.1', inbound: [], outbound: [{ port: ports[2], tags: { 'kuma.io/service': 'backend' } }] },
    }),
  )
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${ports[2]}/`)
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return response.text()
  }
  return { tidewatch, envoys: { one, two, caller }, backends, inboundPort: ports[0], startTwo: () => sidecar('two', ports[1]), ask }
}

async function reached(ask: World['ask']): Promise<string> {
  const names = new Set<string>()
  for (let call = 0; call < 12; call++) names.add(await ask().catch((error: Error) => error.message))
  return [...names].sort().join(' ')
}

for (const variant of ['GRPC', 'DELTA_GRPC'] as const) {
  const words = variant === 'GRPC' ? 'state of the world' : 'delta'

  test(`real Envoys route by Tidewatch and follow what leaves and comes (${words})`, async () => {
    const { tidewatch, envoys, ask, startTwo } = await startWorld('default', variant)
    await expect.poll(() => reached(ask), { timeout: 15_000 }).toBe('one two')
    await expect
      .poll(
        async () =>
          (await sessionsOf(tidewatch)).flatMap(({ types }) => types.map(({ status }) => status)).every((status) => status === 'synced'),
        { timeout: 10_000 },
      )
      .toBe(true)
    const sessions = await sessionsOf(tidewatch)
    expect(sessions).toHaveLength(3)
    for (const session of sessions)
      expect(session).toMatchObject({ variant: variant === 'GRPC' ? 'sotw' : 'delta', agent: expect.stringMatching(/^envoy \d+\.\d+/) })
    for (const envoy of Object.values(envoys)) {
      const dump = await envoy.configDump()
      expect(dump).not.toContain('error_state')
      expect(dump).not.toContain('warming')
    }
    expect(await envoys.caller.configDump()).toContain('"dynamic_route_configs"')

    await envoys.two.stop()
    await expect.poll(() => reached(ask), { timeout: 15_000 }).toBe('one')
    await startTwo()
    await expect.poll(() => reached(ask), { timeout: 15_000 }).toBe('one two')
  })

  test(`real Envoys encrypt with certificates of the built-in CA, and no request is lost when they are renewed (${words})`, async () => {
    const { tidewatch, ask, inboundPort } = await startWorld('secure', variant)
    await expect.poll(() => reached(ask), { timeout: 15_000 }).toBe('one two')
    await expect(fetch(`http://127.0.0.1:${inboundPort}/`)).rejects.toThrow()

    await set(tidewatch, 'identity.certificateTtlMs', 4_000)
    const failures: string[] = []
    let asked = 0
    for (const until = Date.now() + 9_000; Date.now() < until; asked++) await ask().catch((error: Error) => failures.push(error.message))
    expect(failures).toEqual([])
    expect(asked).toBeGreaterThan(100)
    const insight = await tidewatch.call<{
      mtls: { certificateRegenerations: number } | null
      row: InsightRow
      subscriptions: readonly unknown[]
    }>('insights.get', {
      key: { type: 'DataplaneInsight', mesh: 'secure', name: 'caller' },
    })
    expect(insight.mtls?.certificateRegenerations).toBeGreaterThan(2)
    expect(insight.subscriptions).toHaveLength(1)
  })
}

test('what a real Envoy refuses is on the page with its reason', async ({ page }) => {
  const tidewatch = await keep(startTidewatch({ file: 'e2e/mains/refused-main.ts' }))
  await keep(
    startEnvoy({
      xds: tidewatch.xds,
      variant: 'GRPC',
      mesh: 'default',
      name: 'web-1',
      networking: {
        address: '127.0.0.1',
        inbound: [{ port: await freePort(), servicePort: 8080, tags: { 'kuma.io/service': 'web' } }],
        outbound: [],
      },
    }),
  )
  await expect.poll(async () => (await sessionsOf(tidewatch))[0]?.types[0]?.status, { timeout: 15_000 }).toBe('rejected')
  await page.goto(`${tidewatch.url}/streams`)
  await expect(page.getByText(/Invalid duration/).first()).toBeVisible({ timeout: 15_000 })
})

test('an Envoy that froze is found by keepalive', async () => {
  const { tidewatch, envoys } = await startWorld('default', 'DELTA_GRPC')
  await expect.poll(async () => (await sessionsOf(tidewatch)).length, { timeout: 15_000 }).toBe(3)
  envoys.two.signal('SIGSTOP')
  await expect.poll(async () => (await sessionsOf(tidewatch)).length, { timeout: 40_000 }).toBe(2)
  envoys.two.signal('SIGCONT')
  await expect.poll(async () => (await sessionsOf(tidewatch)).length, { timeout: 40_000 }).toBe(3)
})
