import { setTimeout as wait } from 'node:timers/promises'
import type { InsightRow } from '../../server/model/views.ts'
import { type OpenBrowser, openBrowserOn } from './open-browser.ts'
import { type Fleet, type Product, isSoWithin, startProduct, until } from './product.ts'
import type { Report } from './report.ts'
import { differencesOf } from './shown-rows.ts'

const RESIDENTS = 20
const VISITORS = 60
/** A shorter run says nothing: a heap grows until it is worth collecting. */
const MEMORY_TELLS_AFTER_MS = 15 * 60_000
/** Fewer than the data planes of one round. */
const MOST_MORE_RESOURCES = 15
const MOST_GROWTH = 1.05
/** A list view, its rows and their formatting settle within the first quarter; after it this much is noise. */
const MOST_PAGE_GROWTH = 1.1
/** An untouched list takes its order again every few seconds, too. */
const SETTLES_WITHIN_MS = 20_000
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
  const browser = withBrowser ? await openBrowserOn(`${product.url}/insights?sort=name`) : undefined
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
    await holdSizes(before, look, report)
    holdMemory(samples, { durationMs, withBrowser }, report)
    if (browser !== undefined) {
      const visitors = await product.startFleet({ dataplanes: VISITORS, seed: seed + 2 + rounds })
      await holdRows('with visitors', { product, browser }, report)
      await leave(product, visitors)
      await holdRows('when they are gone', { product, browser }, report)
    }
    const { storeProblem } = await product.counters()
    report.hold(storeProblem === null, 'the store answers', storeProblem?.message ?? 'yes')
  } finally {
    await browser?.close()
    await product.stop()
  }
}

/** What the last departure left to be done (those who stay are told of it, at a pace of their own) is done within seconds. */
async function holdSizes(before: Snapshot, look: () => Promise<Snapshot>, report: Report): Promise<void> {
  let left: readonly string[] = []
  const isKept = await isSoWithin(SETTLES_WITHIN_MS, async () => {
    const after = await look()
    // A timer or two of everyday work come and go; a timer per session would be hundreds.
    left = [...growthOf(before.sizes, after.sizes, 0), ...growthOf(before.resources, after.resources, MOST_MORE_RESOURCES)]
    return left.length === 0
  })
  report.hold(isKept, 'nothing of departed sessions is left', left.join(', ') || 'nothing')
}

function growthOf(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>, most: number): readonly string[] {
  const grown = Object.entries(after).filter(([name, size]) => size > (before[name] ?? 0) + most)
  return grown.map(([name, size]) => `${name} ${before[name] ?? 0} -> ${size}`)
}

/** One fleet comes, is seen, leaves, and is forgotten. */
async function visit(product: Product, seed: number): Promise<void> {
  await leave(product, await product.startFleet({ dataplanes: VISITORS, seed }))
}

async function leave(product: Product, fleet: Fleet): Promise<void> {
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
  const page = growth((sample) => sample.pageHeap)
  if (durationMs < MEMORY_TELLS_AFTER_MS)
    return report.say(`  RSS ${rss.text}, the page's heap ${page.text} (held from ${MEMORY_TELLS_AFTER_MS / 60_000} minutes on)`)
  report.hold(rss.growth < MOST_GROWTH, 'RSS grows by less than 5 % after the first quarter', rss.text)
  if (withBrowser) report.hold(page.growth < MOST_PAGE_GROWTH, "the page's heap is flat after the first quarter", page.text)
}

/** What the page shows against what the store has, as soon as the last changes have reached it. */
async function holdRows(when: string, { product, browser }: { product: Product; browser: OpenBrowser }, report: Report): Promise<void> {
  let found: readonly string[] = []
  let total = 0
  const areSame = async () => {
    const { now, items } = await product.call<{ now: number; items: InsightRow[] }>('insights.list', { sort: 'name', limit: 1000 })
    total = items.length
    found = differencesOf(await browser.rowsShown(), items, now)
    return found.length === 0
  }
  const isKept = await isSoWithin(SETTLES_WITHIN_MS, areSame)
  report.hold(isKept, `the page shows what is stored ${when}`, isKept ? `${total} rows` : found.slice(0, 5).join('; '))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function toMb(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
