const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  second: 1_000,
  seconds: 1_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
}

/** `4`, `4 s`, `500ms`, `2 min`, `1,5 s`, `1 min 30 s`: a number without a unit is seconds. Undefined where it is no span. */
export function parseSpan(text: string): number | undefined {
  const normal = text.trim().toLowerCase()
  if (/^\d+([.,]\d+)?$/.test(normal)) return toMs(normal, 's')
  if (!/^(\d+([.,]\d+)?\s*[a-z]+\s*)+$/.test(normal)) return undefined
  let total = 0
  for (const [, amount = '', unit = ''] of normal.matchAll(/(\d+(?:[.,]\d+)?)\s*([a-z]+)/g)) {
    const part = toMs(amount, unit)
    if (part === undefined) return undefined
    total += part
  }
  return total
}

function toMs(amount: string, unit: string): number | undefined {
  const factor = Object.hasOwn(unitMs, unit) ? unitMs[unit] : undefined
  return factor === undefined ? undefined : Math.round(Number(amount.replace(',', '.')) * factor)
}
