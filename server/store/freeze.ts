/** Freezes a value and all it holds. What is frozen already is taken to be so all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (ArrayBuffer.isView(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}

/** What may be kept: the value itself if it is frozen already, else a frozen copy, so that nothing its giver still holds can change it. */
export function frozenCopy<T>(value: T): T {
  return typeof value !== 'object' || value === null || Object.isFrozen(value) ? value : deepFreeze(structuredClone(value))
}
