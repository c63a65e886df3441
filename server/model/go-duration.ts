const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }
const PART = /(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)/y

/** Milliseconds of a duration as Go writes it (`1h0m0s`, `10s`, `1.5s`, `0s`); undefined when it is none. */
export function parseGoDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1
  const body = text.replace(/^[-+]/, '')
  if (body === '0') return 0
  if (body === '') return undefined
  let ms = 0
  PART.lastIndex = 0
  for (let end = 0; end < body.length; end = PART.lastIndex) {
    const part = PART.exec(body)
    if (part === null) return undefined
    ms += Number(part[1]) * (UNITS[part[2] ?? ''] ?? NaN)
  }
  return sign * ms
}
