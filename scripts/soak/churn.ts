import { setTimeout as wait } from 'node:timers/promises'
import type { InsightRow } from '../../server/model/views.ts'
import { openBrowserOn } from './open-browser.ts'
import { type Product, startProduct, until } from './product.ts'
import type { Report } from './report.ts'

const RESIDENTS = 20
const VISITORS = 60
/** RSS of a shorter run says nothing: the heap grows until it is worth collecting. */
const RSS_TELLS_AFTER_MS = 15 * 60_000
/** Fewer than the data planes of one round. */
const MOST_MORE_RESOURCES = 15
const MOST_GROWTH = 1.05
/** A list view, its rows and their formatting settle within the first quarter; after it this much is noise. */
const MOST_PAGE_GROWTH = 1.1
const SETTINGS = { 'sink.dataplane.flushIntervalMs': 1_000, 'xds.deregistrationDelayMs': 1_000 }

interface Snapshot {
  readonly memory: { readonly rss: number; readonly heapUsed: number; readonly external: number }
  readonly sizes: Readonly<Record<string, number>>
  readonly resources: Readonly<Record<string, number>>
}

export interface ChurnOptions {
  readonly durationMs: number
  readonly seed: number
  /** With a browser that is left open all the time. */
  readonly withBrowser: boolean
}

/** Data planes that were never there before come and go, again and again, while a few stay and a browser looks on. */
export async function soakChurn({ durationMs, seed, withBrowser }: ChurnOptions, report: Report): Promise<void> {
  const product = await startProduct({ withPages: withBrowser })
  const browser = withBrowser ? await openBrowserOn(`${product.url}/insights`) : undefined
  try {
    await product.apply(SETTINGS)
    await product.startFleet({ dataplanes: RESIDENTS, seed })
    const look = () => product.call<Snapshot>('debug.snapshot')
    // What is made once and kept, whoever comes (a service's clusters, say), is there after the first round.
    await visit(product, seed + 1)
    const before = await look()
    const samples: { readonly rss: number; readonly pageHeap: number }[] = []
    const endAt = performance.now() + durationMs
    let rounds = 0
    do {
      await visit(product, seed + 2 + rounds++)
      samples.push({
        rss: (await look()).memory.rss,
        pageHeap: (await browser?.heapUsed()) ?? 0,
      })
    } while (performance.now() < endAt)
    report.say(`${rounds} rounds of ${VISITORS} data planes that come and go`)
    const after = await look()
    const left = [
      ...growthOf(before.sizes, after.sizes, 0),
      // A timer or two of everyday work come and go; a timer per session would be hundreds.
      ...growthOf(before.resources, after.resources, MOST_MORE_RESOURCES),
    ]
    report.hold(left.length === 0, 'nothing of departed sessions is left', left.join(', ') || 'nothing')
    holdMemory(samples, { durationMs, withBrowser }, report)
    if (browser !== undefined) await holdRows(product, browser, report)
    const { storeProblem } = await product.counters()
    report.hold(storeProblem === null, 'the store answers', storeProblem?.message ?? 'yes')
  } finally {
    await browser?.close()
    await product.stop()
  }
}

function growthOf(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>, most: number): readonly string[] {
  const grown = Object.entries(after).filter(([name, size]) => size > (before[name] ?? 0) + most)
  return grown.map(([name, size]) => `${name} ${before[name] ?? 0} -> ${size}`)
}

/** One fleet comes, is seen, leaves, and is forgotten. */
async function visit(product: Product, seed: number): Promise<void> {
  const fleet = await product.startFleet({ dataplanes: VISITORS, seed })
  await fleet.stop()
  await until('the visitors are gone', async () => {
    const { sizes } = await product.call<Snapshot>('debug.snapshot')
    return sizes['sessions.all'] === RESIDENTS && sizes['board.rows'] === (await expectedRows(product)) && sizes['lifecycle.removals'] === 0
  })
  // Connections and loads end a moment after the streams on them.
  await wait(500)
}

/** Of the residents, and of what is not a data plane. */
async function expectedRows(product: Product): Promise<number> {
  const { summary } = await product.counters()
  const others = Object.entries(summary).filter(([type]) => type !== 'DataplaneInsight')
  return RESIDENTS + others.flatMap(([, levels]) => Object.values(levels)).reduce((sum, count) => sum + count, 0)
}

function holdMemory(
  samples: readonly { readonly rss: number; readonly pageHeap: number }[],
  { durationMs, withBrowser }: { readonly durationMs: number; readonly withBrowser: boolean },
  report: Report,
): void {
  const quarter = Math.ceil(samples.length / 4)
  const growth = (pick: (sample: (typeof samples)[number]) => number) => {
    const early = median(samples.slice(quarter - 1, 2 * quarter).map(pick))
    const late = median(samples.slice(-quarter).map(pick))
    return { early, late, growth: late / early, text: `${toMb(early)} -> ${toMb(late)} MB` }
  }
  const rss = growth((sample) => sample.rss)
  const isLong = durationMs >= RSS_TELLS_AFTER_MS
  if (isLong) report.hold(rss.growth < MOST_GROWTH, 'RSS grows by less than 5 % after the first quarter', rss.text)
  else report.say(`  RSS ${rss.text} (held from ${RSS_TELLS_AFTER_MS / 60_000} minutes on)`)
  if (!withBrowser) return
  const page = growth((sample) => sample.pageHeap)
  report.hold(page.growth < MOST_PAGE_GROWTH, "the page's heap is flat after the first quarter", page.text)
}

/** What the page shows against what the store has. */
async function holdRows(product: Product, browser: Awaited<ReturnType<typeof openBrowserOn>>, report: Report): Promise<void> {
  const { items } = await product.call<{ items: InsightRow[] }>('insights.list', { limit: 1000 })
  const stored = new Set(items.map(({ subject }) => subject.name))
  const shown = await browser.namesShown()
  const wrong = shown.filter((name) => !stored.has(name))
  report.hold(
    shown.length > 0 && wrong.length === 0,
    'rows on screen are those of the store',
    `${shown.length} shown, ${wrong.length} wrong`,
  )
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function toMb(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
