import { type FuzzOptions, fuzzStreams } from './hostile/fuzz-streams.ts'
import { startHostileGlobal } from './hostile/hostile-global.ts'
import { createKdsCases } from './hostile/kds-cases.ts'
import { showsInside, watchProduct } from './hostile/watch-product.ts'
import { type Product, startProduct } from './product.ts'
import type { Report } from './report.ts'

/** A zone makes one connection at a time. */
const ZONE_SHARE = 1 / 4
const LINK = 'kds/global'
/** Below link.unhealthyAfterMs; longer than anything that is played. */
const LONG_MS = 40_000
const MOST_FAULTS = 20

/** Mutated messages of zones to a global, and of a global to a zone. */
export async function soakFuzzKds(options: FuzzOptions, report: Report): Promise<void> {
  report.say('zones to a global')
  await fuzzGlobal({ ...options, messages: options.messages * (1 - ZONE_SHARE) }, report)
  report.say('a global to a zone')
  await fuzzZone({ ...options, messages: options.messages * ZONE_SHARE }, report)
}

async function fuzzGlobal(options: FuzzOptions, report: Report): Promise<void> {
  const product = await startProduct({ flags: ['--mode', 'global'] })
  try {
    const watch = await watchProduct(product)
    const makeCase = createKdsCases(options.seed, 'zone')
    await fuzzStreams({ ...options, part: 'fuzz-kds', product, address: product.kds!, makeCase }, report)
    // What a zone brought belongs to it.
    await forgetZones(product)
    await watch.holdCalm(report)
  } finally {
    await product.stop()
  }
}

async function forgetZones(product: Product): Promise<void> {
  const { items } = await product.call<{ items: { name: string }[] }>('resources.list', { type: 'Zone', limit: 1000 })
  for (const { name } of items) await product.post('resources.delete', { key: { type: 'Zone', mesh: '', name } })
}

async function fuzzZone({ messages, seed, only }: FuzzOptions, report: Report): Promise<void> {
  const global = await startHostileGlobal()
  const product = await startProduct({ flags: ['--mode', 'zone', '--zone', 'fuzzed', '--global-address', global.address] })
  try {
    // It connects when it is told to.
    await product.apply({
      'link.maxBackoffMs': LONG_MS,
      'link.baseBackoffMs': LONG_MS,
      'link.probeMaxMs': LONG_MS,
      'link.probeBaseMs': LONG_MS,
    })
    const watch = await watchProduct(product)
    const makeCase = createKdsCases(seed, 'global')
    const faults: string[] = []
    let sent = 0
    let index = only ?? 1
    do {
      const hostile = makeCase(index)
      const [said] = await Promise.all([global.play(hostile), product.post('links.retryNow', { id: LINK })])
      sent += hostile.messages.length
      const { items } = await product.call<{ items: { lastError: { message: string } | null }[] }>('links.list')
      const fault = [said, ...items.map(({ lastError }) => lastError?.message ?? '')].find(showsInside)
      if (fault !== undefined)
        faults.push(`shows our inside: ${fault.slice(0, 300)} (npm run soak -- --only=fuzz-kds --seed=${seed} --case=${index})`)
      index++
    } while (only === undefined && sent < messages && faults.length < MOST_FAULTS && product.child.exitCode === null)
    report.say(`${sent} messages on ${index - (only ?? 1)} connections, seed ${seed}`)
    report.hold(faults.length === 0, 'the zone shows nothing of its inside', faults.slice(0, 5).join('; ') || 'yes')
    const [answered] = await Promise.all([global.playHonest(), product.post('links.retryNow', { id: LINK })])
    report.hold(answered > 0, 'an honest global finds the zone well, and takes back what the other gave', `${answered} types acknowledged`)
    await watch.holdCalm(report)
  } finally {
    await product.stop()
    global.stop()
  }
}
