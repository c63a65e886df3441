/** Items by the moment they are due: a binary heap whose items know their place, so that moving or removing one costs log n. */
export interface DueQueue<T extends DueItem> {
  /** Puts the item at `dueAt`, wherever it was before. */
  put(item: T, dueAt: number): void
  /** Nothing happens if it is not in this queue. */
  remove(item: T): void
  /** The earliest moment, undefined when empty. */
  peekDueAt(): number | undefined
  /** Takes out up to `limit` items due at `now` or before, earliest first. */
  takeDue(now: number, limit: number): T[]
  /** Replaces everything in linear time; `dueOf` undefined leaves an item out. */
  rebuild(items: Iterable<T>, dueOf: (item: T) => number | undefined): void
  size(): number
}

/** What the queue keeps in an item; an item is in one queue at most. */
export interface DueItem {
  queue: object | undefined
  place: number
  dueAt: number
}

export function createDueQueue<T extends DueItem>(): DueQueue<T> {
  let heap: T[] = []

  const queue: DueQueue<T> = {
    put(item, dueAt) {
      if (item.queue !== queue) {
        item.queue = queue
        item.dueAt = dueAt
        item.place = heap.length
        heap.push(item)
        rise(item)
        return
      }
      const isEarlier = dueAt < item.dueAt
      item.dueAt = dueAt
      if (isEarlier) rise(item)
      else sink(item)
    },
    remove(item) {
      if (item.queue !== queue) return
      item.queue = undefined
      const last = heap.pop()
      if (last === undefined || last === item) return
      set(last, item.place)
      rise(last)
      sink(last)
    },
    peekDueAt: () => heap[0]?.dueAt,
    takeDue(now, limit) {
      const taken: T[] = []
      for (let first = heap[0]; first !== undefined && first.dueAt <= now && taken.length < limit; first = heap[0]) {
        queue.remove(first)
        taken.push(first)
      }
      return taken
    },
    rebuild(items, dueOf) {
      for (const item of heap) item.queue = undefined
      heap = []
      for (const item of items) {
        const dueAt = dueOf(item)
        if (dueAt === undefined) continue
        item.queue = queue
        item.dueAt = dueAt
        item.place = heap.length
        heap.push(item)
      }
      for (let index = (heap.length >> 1) - 1; index >= 0; index--) sink(heap[index] as T)
    },
    size: () => heap.length,
  }
  return queue

  function set(item: T, place: number): void {
    heap[place] = item
    item.place = place
  }

  function rise(item: T): void {
    while (item.place > 0) {
      const parent = heap[(item.place - 1) >> 1] as T
      if (parent.dueAt <= item.dueAt) return
      const { place } = parent
      set(parent, item.place)
      set(item, place)
    }
  }

  function sink(item: T): void {
    for (;;) {
      const left = heap[item.place * 2 + 1]
      if (left === undefined) return
      const right = heap[item.place * 2 + 2]
      const child = right !== undefined && right.dueAt < left.dueAt ? right : left
      if (item.dueAt <= child.dueAt) return
      const { place } = child
      set(child, item.place)
      set(item, place)
    }
  }
}
