'use client'

import { useEffect, useEffectEvent, useRef } from 'react'
import { type Shortcut, shortcutOf } from './key-chords.ts'

/** The keys of every page. What a part of a page took for itself is not taken again. */
export function useShortcuts(onShortcut: (shortcut: Exclude<Shortcut, { kind: 'chord' }>) => void) {
  const chordAt = useRef<number>(undefined)
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return
    const shortcut = shortcutOf(
      {
        key: event.key,
        hasModifier: event.altKey,
        hasCommand: event.ctrlKey || event.metaKey,
        isTyping:
          event.target instanceof HTMLElement && event.target.closest('input, textarea, select, [contenteditable], [role=dialog]') !== null,
      },
      chordAt.current === undefined ? undefined : event.timeStamp - chordAt.current,
    )
    chordAt.current = shortcut?.kind === 'chord' ? event.timeStamp : undefined
    if (shortcut === undefined || shortcut.kind === 'chord') return
    event.preventDefault()
    onShortcut(shortcut)
  })
  useEffect(() => {
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}
