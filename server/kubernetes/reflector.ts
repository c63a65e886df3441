import { type Clock, yieldToEventLoop } from '../lib/clock.ts'
import { type KubeObject, objectNameOf } from './kube-object.ts'

/**
 * A copy of a remote collection: one writer (the watch), many readers. Of each object it keeps what `digest` makes of it, so that
 * its size is its users' choice. A relist takes the place of everything at once; then what is different is told.
 */
export interface Reflector<T> {
  /** By `namespace/name`. */
  get(name: string): Entry<T> | undefined
  entries(): ReadonlyMap<string, Entry<T>>
  /** Told after each change, in order. */
  onChange(listener: (change: ReflectorChange<T>) => void): void
  /** The writer's half. */
  readonly writer: ReflectorWriter
}

export interface Entry<T> {
  readonly version: string
  readonly uid: string | undefined
  readonly value: T
}

export type ReflectorChange<T> =
  | { readonly kind: 'set'; readonly name: string; readonly entry: Entry<T>; readonly before: Entry<T> | undefined }
  /** With its last known state. */
  | { readonly kind: 'deleted'; readonly name: string; readonly before: Entry<T> }

export interface ReflectorWriter {
  /** What became of it: nothing, when it is of the version we have. Throws UnreadableObject. */
  apply(change: 'added' | 'modified' | 'deleted', object: KubeObject): 'added' | 'modified' | 'deleted' | 'unchanged'
  /** Begins a new copy beside the present one, which readers keep until `swap`. One at a time: a later one makes an earlier one void. */
  relist(): Relist
  size(): number
}
export interface Relist {
  /** Throws UnreadableObject. */
  add(object: KubeObject): void
  size(): number
  /** Puts the new copy in the place of the old, then tells what is different, politely: resolves when everything is told. */
  swap(): Promise<void>
}

export interface ReflectorOptions<T> {
  /** What is kept of an object; `before` is what was kept of it until now. Objects live at most as long as this call. */
  readonly digest: (object: KubeObject, before: T | undefined) => T
}

export function createReflector<T>(clock: Pick<Clock, 'monotonic'>, { digest }: ReflectorOptions<T>): Reflector<T> {
  let entries = new Map<string, Entry<T>>()
  const listeners: ((change: ReflectorChange<T>) => void)[] = []
  const tell = (change: ReflectorChange<T>) => {
    for (const listener of listeners) listener(change)
  }
  /** An object of another uid is another object, whatever its name: it begins without a past. */
  const pastOf = (entry: Entry<T> | undefined, uid: string | undefined) => (entry?.uid === uid ? entry?.value : undefined)

  function entryOf(object: KubeObject, before: Entry<T> | undefined): Entry<T> {
    const { resourceVersion, uid } = object.metadata
    if (before?.version === resourceVersion && before.uid === uid) return before
    try {
      return { version: resourceVersion, uid, value: digest(object, pastOf(before, uid)) }
    } catch (error) {
      throw new UnreadableObject((error as Error).message, { cause: error })
    }
  }

  const writer: ReflectorWriter = {
    apply(change, object) {
      const name = objectNameOf(object.metadata)
      const before = entries.get(name)
      if (change === 'deleted') {
        if (before === undefined) return 'unchanged'
        const last = entryOf(object, before)
        entries.delete(name)
        tell({ kind: 'deleted', name, before: last })
        return 'deleted'
      }
      const entry = entryOf(object, before)
      if (entry === before) return 'unchanged'
      entries.set(name, entry)
      tell({ kind: 'set', name, entry, before })
      return before === undefined ? 'added' : 'modified'
    },
    relist() {
      const next = new Map<string, Entry<T>>()
      return {
        add(object) {
          const name = objectNameOf(object.metadata)
          next.set(name, entryOf(object, next.get(name) ?? entries.get(name)))
        },
        size: () => next.size,
        async swap() {
          const old = entries
          entries = next
          const slices = createSlices(clock)
          for (const [name, before] of old) {
            if (!next.has(name)) tell({ kind: 'deleted', name, before })
            if (slices.isOver()) await slices.next()
          }
          for (const [name, entry] of next) {
            const before = old.get(name)
            if (before !== entry) tell({ kind: 'set', name, entry, before })
            if (slices.isOver()) await slices.next()
          }
        },
      }
    },
    size: () => entries.size,
  }
  return {
    get: (name) => entries.get(name),
    entries: () => entries,
    onChange: (listener) => void listeners.push(listener),
    writer,
  }
}

/** How long telling goes on before others get their turn. */
const SLICE_MS = 8
const CHECK_EVERY = 64

function createSlices(clock: Pick<Clock, 'monotonic'>) {
  let endsAt = clock.monotonic() + SLICE_MS
  let done = 0
  return {
    isOver: () => ++done % CHECK_EVERY === 0 && clock.monotonic() >= endsAt,
    async next() {
      await yieldToEventLoop()
      endsAt = clock.monotonic() + SLICE_MS
    },
  }
}

/** An object that cannot be made sense of: it is named and left out, and the others are not held up. */
export class UnreadableObject extends Error {
  override readonly name = 'UnreadableObject'
}
