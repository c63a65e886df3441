import { destinations } from '../app/shell/destinations.ts'
import { firstLoadOf } from './first-load.ts'
import { expect, test } from './tidewatch.ts'

/** Of all JavaScript that a page loads before it works, compressed. Next and React alone, in an empty page, are 135 KB: 1.45 times that. */
const BUDGET_BYTES = 195_000
const OVERVIEW_BUDGET_BYTES = 182_000

for (const { href, label } of destinations)
  test(`${label} loads no more than its budget before it works, and no schemas`, async ({ baseURL }) => {
    const { gzipBytes, scripts } = await firstLoadOf(baseURL, href)
    expect(gzipBytes).toBeGreaterThan(100_000)
    expect(gzipBytes).toBeLessThan(href === '/' ? OVERVIEW_BUDGET_BYTES : BUDGET_BYTES)
    expect(scripts.some((script) => script.includes('ZodError') || script.includes('$ZodType'))).toBe(false)
  })
