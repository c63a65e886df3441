'use client'

import { type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react'

export interface LazyPart<P> {
  /** Drawn at once when it is here, so that what is typed right after a shortcut goes into it; on the server always. */
  readonly Part: ComponentType<P>
  /** Fetches it ahead of need, so that it opens without a server too. What could not be fetched now is fetched when it is drawn. */
  readonly preload: () => void
}

/** A part that is not drawn at first: its code is no part of the page's first load. */
export function lazyPart<P extends object>(load: () => Promise<ComponentType<P>>, whileFetched: ReactNode = null): LazyPart<P> {
  let loaded: ComponentType<P> | undefined
  const fetch = async () => {
    loaded = await load()
    return { default: loaded }
  }
  return {
    Part: function Part(props: P) {
      const [Content] = useState<ComponentType<P>>(() => loaded ?? lazy(fetch))
      return (
        <Suspense fallback={whileFetched}>
          <Content {...props} />
        </Suspense>
      )
    },
    preload: () => void fetch().catch(() => {}),
  }
}
