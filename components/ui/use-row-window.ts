'use client'

import { type RefObject, useCallback, useRef, useSyncExternalStore } from 'react'

export interface RowWindowOptions {
  readonly rowCount: number
  /** All rows are of this height. */
  readonly rowPx: number
  /** Height of the list where it is not known: on the server, and in the browser before it is in the document. */
  readonly firstPx: number
}

/** Rows in view: from the first on, up to the end, which is not among them. */
export interface RowWindow {
  readonly first: number
  readonly end: number
}

/** Which rows of a scrolled list are in view: moves with the scrolling, in the same frame, and with the size of the list. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, { rowCount, rowPx, firstPx }: RowWindowOptions): RowWindow {
  const view = useRef({ top: 0, heightPx: firstPx })
  const subscribe = useCallback(
    (listener: () => void) => {
      const element = scroller.current
      if (element === null) return () => {}
      const look = () => {
        // A list that is hidden for a while is where it was when it shows again.
        if (element.clientHeight === 0) return
        view.current = { top: Math.max(0, element.scrollTop), heightPx: element.clientHeight }
        listener()
      }
      const observer = new ResizeObserver(look)
      observer.observe(element)
      element.addEventListener('scroll', look, { passive: true })
      return () => {
        observer.disconnect()
        element.removeEventListener('scroll', look)
      }
    },
    [scroller],
  )
  // Two numbers instead of one object: React compares them, and scrolling within a row draws nothing.
  const first = useSyncExternalStore(
    subscribe,
    () => Math.floor(view.current.top / rowPx),
    () => 0,
  )
  const end = useSyncExternalStore(
    subscribe,
    () => Math.ceil((view.current.top + view.current.heightPx) / rowPx),
    () => Math.ceil(firstPx / rowPx),
  )
  return { first: Math.min(first, rowCount), end: Math.min(end, rowCount) }
}

/** Scrolls as little as it takes to have the row in view below a header that sticks to the top. */
export function scrollToRow(
  scroller: HTMLElement,
  row: number,
  { rowPx, headerPx }: { readonly rowPx: number; readonly headerPx: number },
) {
  const top = row * rowPx
  const bottom = top + rowPx + headerPx - scroller.clientHeight
  if (scroller.scrollTop > top) scroller.scrollTop = top
  else if (scroller.scrollTop < bottom) scroller.scrollTop = bottom
}
