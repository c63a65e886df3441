/**
 * An age in a list of many: short, and steady, for all rows step together once a second and anything finer would only flicker.
 * `<1 s`, `86 s`, `4 min`, `3 h`, `2 d`.
 */
export function steadyAge(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 1) return '<1 s'
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
