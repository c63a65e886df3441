import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readPlaywrightReport, readVitestReport, sum, tallyOfRun } from './test-report.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidewatch-report-'))
afterAll(() => rmSync(folder, { recursive: true }))

function written(text: string): string {
  const path = join(folder, 'report.json')
  writeFileSync(path, text)
  return path
}

test('a run counts what its report says', () => {
  expect(tallyOfRun({ passed: 3, failed: 0 }, 0)).toEqual({ passed: 3, failed: 0 })
  expect(tallyOfRun({ passed: 3, failed: 2 }, 1)).toEqual({ passed: 3, failed: 2 })
})

test('a runner that fails although no test did is one failure', () => {
  expect(tallyOfRun({ passed: 3, failed: 0 }, 1)).toEqual({ passed: 3, failed: 1 })
})

test('a run without a report is a failure, even if it says it went well', () => {
  expect(tallyOfRun(readVitestReport(join(folder, 'none.json')), 0)).toEqual({ passed: 0, failed: 1 })
  expect(tallyOfRun(readVitestReport(written('{"numPassed')), 0)).toEqual({ passed: 0, failed: 1 })
})

test('reads what Vitest writes', () => {
  expect(readVitestReport(written('{ "numPassedTests": 5, "numFailedTests": 1, "numPendingTests": 2 }'))).toEqual({ passed: 5, failed: 1 })
})

test('reads what Playwright writes; a test that passed when tried again has passed', () => {
  expect(readPlaywrightReport(written('{ "stats": { "expected": 4, "skipped": 1, "unexpected": 2, "flaky": 1 } }'))).toEqual({
    passed: 5,
    failed: 2,
  })
})

test('adds up', () => {
  expect(sum([])).toEqual({ passed: 0, failed: 0 })
  expect(
    sum([
      { passed: 1, failed: 2 },
      { passed: 3, failed: 4 },
    ]),
  ).toEqual({ passed: 4, failed: 6 })
})
