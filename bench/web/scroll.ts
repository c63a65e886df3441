import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from '@playwright/test'
import { build, type Rolldown } from 'vite'
import { findChromium } from '../../e2e/chromium.ts'
import { type Bench, bound, type Pair, quantile } from '../harness.ts'
import { sleep, startHost } from './host.ts'

const ROWS = 50_000
const PER_SECOND = 1_000
const REPEATS = 5
const SCROLL_MS = 2_500
const LEAST_FPS = 58
const LONGEST_FRAME_MS = 33

interface Frames {
  readonly fps: number
  readonly worstMs: number
}

/** Frames drawn while a list of 50,000 rows is scrolled and 1,000 of them change each second. */
export const scrollBench: Bench = {
  name: 'scroll',
  async run() {
    const host = await startHost(ROWS, PER_SECOND)
    const baseline = await serve(await bundle())
    const browser = await chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox'] })
    try {
      // One page at a time is in front: the other draws nothing, and is not there.
      const ours: Frames[] = []
      const theirs: Frames[] = []
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        ours.push(await scrolled(await browser.newPage({ viewport: { width: 1280, height: 900 } }), `${host.url}/insights?sort=name`))
        theirs.push(await scrolled(await browser.newPage({ viewport: { width: 1280, height: 900 } }), baseline.url))
      }
      await host.check()
      return pairsOf(ours, theirs)
    } finally {
      await browser.close()
      baseline.server.close()
      host.stop()
    }
  },
}

async function scrolled(page: Page, url: string): Promise<Frames> {
  await page.goto(url)
  await page.getByRole('row').nth(5).waitFor()
  // The whole order of 50,000 follows the page.
  await sleep(2_000)
  const deltas = await page.evaluate(async (forMs) => {
    const scroller = [...document.querySelectorAll('[role=grid]')].find((element) => element.scrollHeight > 1_000_000)
    if (scroller === undefined) throw new Error('there is no long list')
    const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve))
    const found: number[] = []
    let before = await frame()
    for (const end = before + forMs; before < end;) {
      // About 60 rows a second and more, as a hand on a wheel does.
      scroller.scrollTop += 40
      const now = await frame()
      found.push(now - before)
      before = now
    }
    return found
  }, SCROLL_MS)
  await page.close()
  return { fps: (1_000 * deltas.length) / deltas.reduce((sum, delta) => sum + delta, 0), worstMs: Math.max(...deltas) }
}

function pairsOf(ours: readonly Frames[], theirs: readonly Frames[]): readonly Pair[] {
  const fps = (frames: readonly Frames[]) =>
    Math.round(
      quantile(
        frames.map((run) => run.fps),
        0.5,
      ) * 10,
    ) / 10
  return [
    {
      id: 'scroll.frame',
      title: `Longest frame while scrolling ${ROWS} rows with ${PER_SECOND} changes a second, against a table that gets new data 10 times a second`,
      unit: 'ms',
      target: 1,
      runs: ours.map(({ worstMs }, run) => ({ ours: worstMs, baseline: theirs[run]!.worstMs })),
      note: `frames a second: ${fps(ours)} against ${fps(theirs)}`,
    },
    {
      id: 'scroll.frame.bound',
      title: 'The same in a bound of 33 ms',
      unit: 'ms',
      target: 1,
      runs: bound(
        LONGEST_FRAME_MS,
        ours.map(({ worstMs }) => worstMs),
      ),
    },
    {
      id: 'scroll.fps',
      title: 'A frame on average, in a bound of 58 a second',
      unit: 'ms',
      target: 1,
      runs: bound(
        1_000 / LEAST_FPS,
        ours.map((run) => 1_000 / run.fps),
      ),
    },
  ]
}

async function bundle(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-bench-table-'))
  try {
    const entry = join(import.meta.dirname, 'table-baseline.tsx')
    const built = (await build({
      configFile: false,
      logLevel: 'error',
      define: { 'process.env.NODE_ENV': '"production"' },
      build: { write: false, rollupOptions: { input: entry }, outDir: folder },
    })) as Rolldown.RolldownOutput
    return built.output[0].code
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function serve(script: string): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((req, res) => {
    const isScript = req.url === '/table.js'
    res.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    res.end(isScript ? script : '<!doctype html><title>table</title><div id="root"></div><script type="module" src="/table.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}
