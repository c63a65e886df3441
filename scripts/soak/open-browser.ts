import { chromium } from '@playwright/test'
import { columns } from '../../components/insights/columns.ts'
import { findChromium } from '../../e2e/chromium.ts'
import type { ShownRows } from './shown-rows.ts'

/** One page with the list of insights that is left open: nobody touches it. */
export interface OpenBrowser {
  /** Bytes of its JavaScript heap that are really in use. */
  heapUsed(): Promise<number>
  rowsShown(): Promise<ShownRows>
  close(): Promise<void>
}

export async function openBrowserOn(url: string): Promise<OpenBrowser> {
  const browser = await chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox'] })
  const page = await browser.newPage({ viewport: { width: 1400, height: 1400 } })
  const devtools = await page.context().newCDPSession(page)
  await page.goto(url)
  return {
    async heapUsed() {
      await devtools.send('HeapProfiler.collectGarbage')
      return (await devtools.send('Runtime.getHeapUsage')).usedSize
    },
    rowsShown: () =>
      page.getByRole('grid', { name: 'Insights' }).evaluate(
        (grid, ids) => {
          const rows = [...grid.querySelectorAll('[role=row]:has([role=gridcell])')].map((row) => ({
            // The header is the first.
            place: Number(row.ariaRowIndex) - 1,
            texts: Object.fromEntries([...row.querySelectorAll('[role=gridcell]')].map((cell, index) => [ids[index]!, cell.textContent])),
          }))
          return { total: Number(grid.ariaRowCount) - 1, rows: rows.toSorted((a, b) => a.place - b.place) }
        },
        columns.map(({ id }) => id),
      ),
    close: () => browser.close(),
  }
}
