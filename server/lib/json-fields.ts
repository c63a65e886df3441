/** For looking into what others wrote: nothing of it is certain, so each field is asked for by name and kind. */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field's value if it is text. */
export function textIn(value: unknown, field: string): string | undefined {
  const found = isRecord(value) ? value[field] : undefined
  return typeof found === 'string' ? found : undefined
}

export function numberIn(value: unknown, field: string): number | undefined {
  const found = isRecord(value) ? value[field] : undefined
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

export function listIn(value: unknown, field: string): readonly unknown[] {
  const found = isRecord(value) ? value[field] : undefined
  return Array.isArray(found) ? found : []
}

/** A number, or text that is one; absent or anything else is 0. */
export function countIn(value: unknown, field: string): number {
  const count = Number(numberIn(value, field) ?? textIn(value, field) ?? 0)
  return Number.isFinite(count) ? count : 0
}

/** What is at a path of fields. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const field of path) found = isRecord(found) ? found[field] : undefined
  return found
}

/** Epoch ms of a time as RFC 3339 has it, with any number of decimals; undefined when it is none. */
export function momentOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}
