/** At most so many at a time; the others wait in line. */
export interface Turns {
  /** Resolves with what ends the turn (idempotent) when it is one's turn; rejects with the signal's reason when it aborts before. */
  take(signal: AbortSignal): Promise<() => void>
  /** Waiting now: 0 when nothing is left behind. */
  waiting(): number
}

export function createTurns(atOnce: number): Turns {
  let taken = 0
  const line = new Set<() => void>()

  function begin(): () => void {
    taken++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      taken--
      const [next] = line
      next?.()
    }
  }

  return {
    take(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        if (taken < atOnce) return resolve(begin())
        const leave = () => {
          line.delete(called)
          signal.removeEventListener('abort', onAbort)
        }
        const called = () => {
          leave()
          resolve(begin())
        }
        const onAbort = () => {
          leave()
          reject(signal.reason)
        }
        line.add(called)
        signal.addEventListener('abort', onAbort, { once: true })
      })
    },
    waiting: () => line.size,
  }
}
