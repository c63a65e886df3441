import { chromium } from '@playwright/test'
import { findChromium } from '../../e2e/chromium.ts'

/** One page that is left open. */
export interface OpenBrowser {
  /** Bytes of its JavaScript heap that are really in use. */
  heapUsed(): Promise<number>
  /** The names of the rows on screen, in the newest order. */
  namesShown(): Promise<readonly string[]>
  close(): Promise<void>
}

/** Settles what is on its way to the screen. */
const SETTLE_MS = 2_000

export async function openBrowserOn(url: string): Promise<OpenBrowser> {
  const browser = await chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox'] })
  const page = await browser.newPage()
  const devtools = await page.context().newCDPSession(page)
  await page.goto(url)
  return {
    async heapUsed() {
      await devtools.send('HeapProfiler.collectGarbage')
      return (await devtools.send('Runtime.getHeapUsage')).usedSize
    },
    async namesShown() {
      await page.waitForTimeout(SETTLE_MS)
      const newOrder = page.getByRole('button', { name: /refresh order/ })
      if (await newOrder.isVisible()) await newOrder.click()
      await page.waitForTimeout(SETTLE_MS)
      const rows = await page.locator('[role=grid] [role=row]:has([role=gridcell])').all()
      return Promise.all(rows.map((row) => row.getByRole('gridcell').nth(1).innerText()))
    },
    close: () => browser.close(),
  }
}
