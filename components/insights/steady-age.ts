import { formatSpan } from '../format.ts'

/**
 * An age in a list of many, in whole seconds: all rows step together once a second, and a tenth would only flicker.
 * `<1 s`, `8 s`, `4 min 12 s`.
 */
export function steadyAge(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return seconds < 1 ? '<1 s' : formatSpan(1000 * seconds)
}
