import { readFileSync } from 'node:fs'

export interface Tally {
  readonly passed: number
  readonly failed: number
}

export const NOTHING: Tally = { passed: 0, failed: 0 }

export function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce((all, one) => ({ passed: all.passed + one.passed, failed: all.failed + one.failed }), NOTHING)
}

/**
 * What a run counts for. A runner that failed although no test did (a file that does not load, an error outside of tests,
 * no report at all) is one failure: it must never look like success.
 */
export function tallyOfRun(report: Tally | undefined, status: number): Tally {
  const tally = report ?? NOTHING
  const failedOutsideOfTests = (status !== 0 || report === undefined) && tally.failed === 0
  return failedOutsideOfTests ? { ...tally, failed: 1 } : tally
}

/** undefined when there is no report that can be read. */
export function readVitestReport(path: string): Tally | undefined {
  const report = readJson<{ numPassedTests: number; numFailedTests: number }>(path)
  return report && { passed: report.numPassedTests, failed: report.numFailedTests }
}

/** A test that passed only when tried again has passed. */
export function readPlaywrightReport(path: string): Tally | undefined {
  const report = readJson<{ stats: { expected: number; flaky: number; unexpected: number } }>(path)
  return report && { passed: report.stats.expected + report.stats.flaky, failed: report.stats.unexpected }
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch {
    return undefined
  }
}
