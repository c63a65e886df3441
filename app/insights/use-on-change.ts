'use client'

import { useEffect, useEffectEvent, useRef } from 'react'

/** Calls `run` when `signature` changes, at most once in `everyMs`; a change within that time is answered at its end. Not at first. */
export function useOnChange(signature: string, run: () => void, everyMs: number): void {
  const onDue = useEffectEvent(run)
  const seen = useRef(signature)
  const lastAt = useRef(0)
  useEffect(() => {
    if (seen.current === signature) return
    const wait = Math.max(0, lastAt.current + everyMs - performance.now())
    const timer = setTimeout(() => {
      seen.current = signature
      lastAt.current = performance.now()
      onDue()
    }, wait)
    return () => clearTimeout(timer)
  }, [signature, everyMs])
}
