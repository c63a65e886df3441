/** What a soak says and what it holds: a breach is told and remembered, and the run goes on to show the others. */
export interface Report {
  say(text: string): void
  /** `what` is the promise, `found` what was measured. */
  hold(isKept: boolean, what: string, found: string | number): void
  readonly breaches: readonly string[]
}

export function createReport(write: (line: string) => void): Report {
  const breaches: string[] = []
  return {
    say: write,
    hold(isKept, what, found) {
      if (!isKept) breaches.push(`${what}: ${found}`)
      write(`  ${isKept ? 'ok    ' : 'BREACH'} ${what}: ${found}`)
    },
    breaches,
  }
}
