import type { ApiContext } from './context.ts'
import type { AppRouter } from './router.ts'

/** What the running process leaves for server components, which Next bundles and which so cannot import it: they prefetch through it, in process. */
export interface Tidewatch {
  readonly router: AppRouter
  createContext(): ApiContext
}

const HANDLE = Symbol.for('tidewatch')

/** Called once by main, before it serves pages. */
export function publishHandle(handle: Tidewatch): void {
  ;(globalThis as Record<symbol, unknown>)[HANDLE] = handle
}
