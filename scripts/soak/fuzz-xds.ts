import { type FuzzOptions, fuzzStreams } from './hostile/fuzz-streams.ts'
import { watchProduct } from './hostile/watch-product.ts'
import { createXdsCases } from './hostile/xds-cases.ts'
import { startProduct } from './product.ts'
import type { Report } from './report.ts'

/** Mutated messages of data planes, on both variants. */
export async function soakFuzzXds(options: FuzzOptions, report: Report): Promise<void> {
  const product = await startProduct()
  try {
    await product.apply({ 'xds.deregistrationDelayMs': 1_000 })
    const watch = await watchProduct(product)
    await fuzzStreams({ ...options, part: 'fuzz-xds', product, address: product.xds, makeCase: createXdsCases(options.seed) }, report)
    await watch.holdCalm(report)
  } finally {
    await product.stop()
  }
}
