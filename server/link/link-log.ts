import type { LinkLogEntry } from '../model/link-row.ts'

/** What became of a link, in lines: for its page (the last ones), and for the process's log (few, however much it flaps). */
export interface LinkLog {
  write(level: 'info' | 'warn', text: string): void
  entries(): readonly LinkLogEntry[]
}

export interface LogSink {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const KEPT = 50
const LENGTH = 500
const LINES_PER_WINDOW = 10
const WINDOW_MS = 60_000

export function createLinkLog(link: string, sink: LogSink, clock: { now(): number; monotonic(): number }): LinkLog {
  let entries: readonly LinkLogEntry[] = []
  let windowSince = -Infinity
  let lines = 0
  let left = 0

  return {
    write(level, text) {
      const line = text.slice(0, LENGTH)
      entries = [...entries, { at: clock.now(), text: line }].slice(-KEPT)
      if (clock.monotonic() - windowSince >= WINDOW_MS) {
        windowSince = clock.monotonic()
        lines = 0
      }
      if (++lines > LINES_PER_WINDOW) {
        left++
        return
      }
      sink[level]({ link, ...(left > 0 && { linesLeftOut: left }) }, `link ${link}: ${line}`)
      left = 0
    },
    entries: () => entries,
  }
}
