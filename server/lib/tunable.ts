/** A value that may change while we run. Read it each lap; watch it to wake early. */
export interface Tunable<T> {
  get(): T
  /** Calls `changed` synchronously after each change with the new value, until the signal aborts. Not called for the present value. */
  watch(changed: (value: T) => void, signal: AbortSignal): void
}

/** Follows `source`: its value is always `map` of the source's. */
export function deriveTunable<T, U>(source: Tunable<T>, map: (value: T) => U): Tunable<U> {
  return {
    get: () => map(source.get()),
    watch: (changed, signal) => source.watch((value) => changed(map(value)), signal),
  }
}

/** Its value is always what `compute` makes of the sources. */
export function combineTunables<T>(sources: readonly Tunable<unknown>[], compute: () => T): Tunable<T> {
  return {
    get: compute,
    watch(changed, signal) {
      for (const source of sources) source.watch(() => changed(compute()), signal)
    },
  }
}

export interface MutableTunable<T> extends Tunable<T> {
  /** Setting an equal value (by Object.is) tells nobody. */
  set(value: T): void
}

export function createTunable<T>(initial: T): MutableTunable<T> {
  let current = initial
  const watchers = new Set<(value: T) => void>()
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return
      current = value
      // A watcher may set, watch or end another in turn: all who are left hear the newest value last.
      for (const changed of Array.from(watchers)) if (watchers.has(changed)) changed(current)
    },
    watch(changed, signal) {
      if (signal.aborted) return
      const entry = (value: T) => changed(value)
      watchers.add(entry)
      signal.addEventListener('abort', () => watchers.delete(entry), { once: true })
    },
  }
}
