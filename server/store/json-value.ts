import { CoreError } from '../lib/errors.ts'

/** What is kept of a value: what JSON keeps of it, whatever store it is in and whether it was read back or not. */
export interface StoredValue {
  readonly text: string
  /** Deeply frozen, and nothing its giver can still change. Parts that nobody can change are the giver's own. */
  readonly value: unknown
}

/** Takes a value as it is now; later changes by its giver are not seen. Throws `invalid` for what JSON has no form for. */
export function toStoredValue(value: unknown, what: string): StoredValue {
  const text = toText(value, what)
  const kept = keep(value)
  return { text, value: kept === viaText ? fromStoredText(text) : kept }
}

/** The deeply frozen value of a text made by `toStoredValue`. */
export function fromStoredText(text: string): unknown {
  return freezeParsed(JSON.parse(text))
}

/** Equal once stored: an undefined field is an absent one, -0 is 0, and the order of fields says nothing. */
export function isSameStored(a: unknown, b: unknown): boolean {
  if (a === b) return true
  const left = toJson(a)
  const right = toJson(b)
  if (!isObject(left) || !isObject(right)) return left === right
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    return left.every((item, index) => isSameStored(item ?? null, right[index] ?? null))
  }
  const fields = Object.keys(left).filter((name) => toJson(left[name]) !== undefined)
  if (fields.length !== Object.keys(right).filter((name) => toJson(right[name]) !== undefined).length) return false
  return fields.every((name) => Object.hasOwn(right, name) && isSameStored(left[name], right[name]))
}

function toText(value: unknown, what: string): string {
  let cause: unknown
  try {
    const text = JSON.stringify(value) as string | undefined
    if (text !== undefined) return text
  } catch (error) {
    cause = error
  }
  throw new CoreError('invalid', `the ${what} can't be stored: it has no form in JSON`, { cause })
}

/** No part of a stored value: an absent field, null in a list. */
const absent = Symbol('absent')
/** Only the way through JSON tells what is kept of it. */
const viaText = Symbol('via text')

/** What JSON keeps of a value, frozen; the same reference where it is that already. */
function keep(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (!isObject(value)) return absent
  if (isStored(value)) return value
  if (typeof value['toJSON'] === 'function') return viaText
  if (Array.isArray(value)) return keepList(value)
  return Object.getPrototypeOf(value) === Object.prototype ? keepObject(value) : viaText
}

function keepList(list: readonly unknown[]): unknown {
  const kept: unknown[] = []
  for (const item of list) {
    const part = keep(item)
    if (part === viaText) return viaText
    kept.push(part === absent ? null : part)
  }
  return Object.freeze(kept)
}

function keepObject(object: Readonly<Record<string, unknown>>): unknown {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(object)) {
    // An own name that writing it would not make one.
    if (name === '__proto__') return viaText
    const part = keep(object[name])
    if (part === viaText) return viaText
    if (part !== absent) kept[name] = part
  }
  return Object.freeze(kept)
}

/** Frozen all the way down and the same after a way through JSON: may be kept as it is. */
function isStored(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (!isObject(value) || !Object.isFrozen(value)) return false
  if (Array.isArray(value)) return value.every(isStored)
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const name in value) if (!isStored(value[name])) return false
  return true
}

/** For what was just parsed: a tree without cycles that nobody else holds. */
function freezeParsed(value: unknown): unknown {
  if (!isObject(value)) return value
  for (const name in value) freezeParsed(value[name])
  return Object.freeze(value)
}

/** What JSON makes of a value on its own; undefined for what it leaves out. */
function toJson(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  return isObject(value) && typeof value['toJSON'] === 'function' ? (value['toJSON']() as unknown) : value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
