import type { Clock } from '../lib/clock.ts'
import { createTopic } from '../lib/topic.ts'

/** Whether somebody looks at what a link brings: what is heavy to ask for is asked for often only then. */
export interface Attention {
  /** Somebody looks at what the link brings of this mesh ('' = of none) until the returned function is called (once or more). */
  hold(link: string, mesh: string): () => void
  /** Somebody has just read it, and may again: counts for a while. */
  touch(link: string, mesh: string): void
  /** Without a mesh: at anything of the link. */
  isLookedAt(link: string, mesh?: string): boolean
  /** Told the link when somebody begins to look at it, or at one more of its meshes. */
  onLook(listener: (link: string) => void, signal: AbortSignal): void
}

/** Pages that poll do so every few seconds. */
const LINGER_MS = 15_000

export function createAttention(clock: Pick<Clock, 'monotonic'>): Attention {
  const held = new Map<string, number>()
  const touchedAt = new Map<string, number>()
  const topic = createTopic<string>()
  const isLooked = (at: string) => (held.get(at) ?? 0) > 0 || clock.monotonic() - (touchedAt.get(at) ?? -Infinity) < LINGER_MS

  function looking(link: string, mesh: string, look: (at: string) => void) {
    const places = [link, placeOf(link, mesh)]
    const isNew = places.some((at) => !isLooked(at))
    for (const at of places) look(at)
    if (isNew) topic.publish(link)
  }

  function letGo(at: string) {
    const left = (held.get(at) ?? 1) - 1
    if (left === 0) held.delete(at)
    else held.set(at, left)
  }

  return {
    hold(link, mesh) {
      looking(link, mesh, (at) => held.set(at, (held.get(at) ?? 0) + 1))
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        letGo(link)
        letGo(placeOf(link, mesh))
      }
    },
    touch(link, mesh) {
      for (const at of touchedAt.keys()) if (!isLooked(at)) touchedAt.delete(at)
      looking(link, mesh, (at) => touchedAt.set(at, clock.monotonic()))
    },
    isLookedAt: (link, mesh) => isLooked(mesh === undefined ? link : placeOf(link, mesh)),
    onLook: (listener, signal) => topic.subscribe(listener, signal),
  }
}

/** No link has a space in its name. */
function placeOf(link: string, mesh: string): string {
  return `${link} ${mesh}`
}
