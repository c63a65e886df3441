/** Synchronous fan-out to any number of listeners. A listener must be short and must not throw. */
export interface Topic<T> {
  publish(event: T): void
  /** Until the signal aborts. */
  subscribe(listener: (event: T) => void, signal: AbortSignal): void
  /** For tests and the debug snapshot: nothing is left behind when this is 0. */
  size(): number
}

export function createTopic<T>(): Topic<T> {
  const listeners = new Set<(event: T) => void>()
  return {
    publish(event) {
      // Whoever subscribes meanwhile hears the next one; whoever has left hears nothing.
      for (const listener of Array.from(listeners)) if (listeners.has(listener)) listener(event)
    },
    subscribe(listener, signal) {
      if (signal.aborted) return
      const entry = (event: T) => listener(event)
      listeners.add(entry)
      signal.addEventListener('abort', () => listeners.delete(entry), { once: true })
    },
    size: () => listeners.size,
  }
}
