/** Every number and time a page shows is worded here, so that the same thing reads the same everywhere. */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long, as precise as one wants to read it: `52 ms`, `3.8 s`, `48 s`, `4 min 12 s`, `40 min`, `4 h 12 min`, `6 d 3 h`. */
export function formatSpan(ms: number): string {
  const span = Math.max(0, ms)
  if (span < 999.5) return `${Math.round(span)} ms`
  if (span < 9.95 * SECOND) return `${trimmed(span / SECOND, 1)} s`
  if (span < 59.5 * SECOND) return `${Math.round(span / SECOND)} s`
  if (span < 10 * MINUTE) return joined(Math.round(span / SECOND), 60, ['min', 's'])
  if (span < 59.5 * MINUTE) return `${Math.round(span / MINUTE)} min`
  if (span < DAY) return joined(Math.round(span / MINUTE), 60, ['h', 'min'])
  return joined(Math.round(span / HOUR), 24, ['d', 'h'])
}

/** A setting's span without loss, in the largest unit that says it shortly: `1.5 s`, `2 min`, `90 s`, `250 ms`. */
export function formatExactSpan(ms: number): string {
  if (ms !== 0 && ms % HOUR === 0) return `${ms / HOUR} h`
  if (ms !== 0 && ms % MINUTE === 0) return `${ms / MINUTE} min`
  if (ms >= SECOND) return `${ms / SECOND} s`
  return `${ms} ms`
}

/** An age that moves while one looks, in steps of a tenth: `0.4 s`; from 10 s on as any span. */
export function formatAge(ms: number): string {
  const age = Math.max(0, ms)
  return age < 9.95 * SECOND ? `${(age / SECOND).toFixed(1)} s` : formatSpan(age)
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** `1,140/s`, `2.1/s`, `0/s`. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0/s'
  if (perSecond < 0.05) return '<0.1/s'
  return `${perSecond < 99.95 ? trimmed(perSecond, 1) : formatCount(Math.round(perSecond))}/s`
}

/** `1 session`, `2 sessions`. */
export function formatQuantity(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

export interface MomentOptions {
  /** The moment it is read: what is not of the same day gets its date. */
  readonly now: number
  /** IANA name; the browser's own where left out. */
  readonly timeZone?: string
}

/** `14:18:29`, with the date where it is another day: `30 Nov 14:18:29`. */
export function formatMoment(at: number, { now, timeZone }: MomentOptions): string {
  const zone = timeZone === undefined ? {} : { timeZone }
  const day = (moment: number) => new Date(moment).toLocaleDateString('en-GB', { ...zone, day: 'numeric', month: 'short' })
  const time = new Date(at).toLocaleTimeString('en-GB', { ...zone, hour12: false })
  return day(at) === day(now) && Math.abs(now - at) < 2 * DAY ? time : `${day(at)} ${time}`
}

/** In full and in UTC, for the title of what is shown in the reader's own zone: `2026-12-01 14:18:29.123 UTC`. */
export function formatUtc(at: number): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC')
}

function joined(total: number, per: number, [large, small]: readonly [string, string]): string {
  const rest = total % per
  return rest === 0 ? `${Math.floor(total / per)} ${large}` : `${Math.floor(total / per)} ${large} ${rest} ${small}`
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.0+$/, '')
}
