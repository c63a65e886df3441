import { setTimeout as wait } from 'node:timers/promises'
import { type Product, until } from '../product.ts'
import type { Report } from '../report.ts'

interface Snapshot {
  readonly memory: { readonly rss: number }
  readonly sizes: Readonly<Record<string, number>>
}

/** The product as it was before it was treated badly, and the most it grew to meanwhile. */
export interface Watch {
  /** Holds that it lives, has no more than before, and blames nothing on itself. */
  holdCalm(report: Report): Promise<void>
  stop(): void
}

/** Beyond what it had: a few messages of the greatest size under way, and what the heap has not collected yet. */
const MOST_GROWTH_BYTES = 600e6
const SAMPLE_MS = 500
const FORGOTTEN_WITHIN_MS = 20_000
/** Looks, one every 50 ms, that find no change. */
const SETTLED_AFTER = 20

export async function watchProduct(product: Product): Promise<Watch> {
  const snapshot = () => product.call<Snapshot>('debug.snapshot')
  const before = await settled(snapshot)
  const logFrom = product.log().length
  let peak = before.memory.rss
  const ending = new AbortController()
  void sample()

  return {
    stop: () => ending.abort(),
    async holdCalm(report) {
      ending.abort()
      report.hold(product.child.exitCode === null && product.child.signalCode === null, 'the process lives', 'yes')
      const left = async () => Object.entries((await snapshot()).sizes).filter(([name, size]) => size > (before.sizes[name] ?? 0))
      await until('it has forgotten them', async () => (await left()).length === 0, FORGOTTEN_WITHIN_MS).catch(() => undefined)
      const rest = (await left()).map(([name, size]) => `${name} ${before.sizes[name]} -> ${size}`)
      report.hold(rest.length === 0, 'nothing of them is left', rest.join(', ') || 'nothing')
      report.hold(
        peak - before.memory.rss < MOST_GROWTH_BYTES,
        'its memory stays within bounds',
        `${toMb(before.memory.rss)} MB, at most ${toMb(peak)} MB`,
      )
      const blamed = product
        .log()
        .slice(logFrom)
        .split('\n')
        .filter((line) => /"level":(?:50|60)/.test(line))
      report.hold(blamed.length === 0, 'it takes nothing for a fault of its own', blamed[0]?.slice(0, 500) ?? 'yes')
      const { eventLoopLagMs } = await product.counters()
      report.say(`  event loop lag meanwhile: p99 ${Math.round(eventLoopLagMs.p99)} ms`)
    },
  }

  async function sample() {
    while (!ending.signal.aborted) {
      const found = await snapshot().catch(() => undefined)
      peak = Math.max(peak, found?.memory.rss ?? 0)
      await wait(SAMPLE_MS)
    }
  }
}

/** What is made at the start is made before anything is compared with it. */
async function settled(snapshot: () => Promise<Snapshot>): Promise<Snapshot> {
  let last = await snapshot()
  let sameFor = 0
  await until('it has settled', async () => {
    const next = await snapshot()
    sameFor = JSON.stringify(next.sizes) === JSON.stringify(last.sizes) ? sameFor + 1 : 0
    last = next
    return sameFor >= SETTLED_AFTER
  })
  return last
}

/** What an answer must never show: a stack, a path of ours, a class of V8's. */
export function showsInside(answer: string): boolean {
  return /\n\s+at |node_modules|file:\/\/|\.ts:\d|\/server\/|TypeError|RangeError|ReferenceError/.test(answer)
}

function toMb(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}
