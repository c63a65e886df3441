'use client'

import { useState } from 'react'

/** Whether somebody has the pointer or the focus in an element: what is under a hand does not move by itself. */
export function useTouched() {
  const [hasPointer, setPointer] = useState(false)
  const [hasFocus, setFocus] = useState(false)
  const handlers = {
    onPointerEnter: () => setPointer(true),
    onPointerLeave: () => setPointer(false),
    onFocus: () => setFocus(true),
    onBlur: () => setFocus(false),
  }
  return [hasPointer || hasFocus, handlers] as const
}
