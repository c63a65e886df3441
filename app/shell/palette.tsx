'use client'

import { type KeyboardEvent, useId, useState } from 'react'
import { Dialog } from '../../components/ui/dialog.tsx'
import { useGlance } from '../live/use-live.ts'
import { useHeldNavigation } from './held-navigation.tsx'
import type { DialogState } from './lazy-dialogs.tsx'
import { paletteEntries } from './palette-entries.ts'

export function Palette({ isOpen, onOpenChange }: DialogState) {
  return (
    <Dialog isOpen={isOpen} onOpenChange={onOpenChange} title="Search and commands" isBare className="p-0">
      <PaletteList onDone={() => onOpenChange(false)} />
    </Dialog>
  )
}

function PaletteList({ onDone }: { readonly onDone: () => void }) {
  const { go } = useHeldNavigation()
  const id = useId()
  const [typed, setTyped] = useState('')
  const [active, setActive] = useState(0)
  const sinks = useGlance((glance) => glance.sinks.map(({ name }) => name).join('\n'))
  const entries = paletteEntries(typed, sinks === '' ? [] : sinks.split('\n'))
  const index = Math.min(active, entries.length - 1)

  function choose(href: string) {
    onDone()
    go(href)
  }
  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setActive((index + step + entries.length) % entries.length)
    }
    const entry = entries[index]
    if (event.key === 'Enter' && entry !== undefined) {
      event.preventDefault()
      choose(entry.href)
    }
  }

  return (
    <>
      <input
        role="combobox"
        aria-label="Search and commands"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={entries.length > 0 ? `${id}-${index}` : undefined}
        value={typed}
        placeholder="Go to a page, filter, or type a name"
        onChange={(event) => {
          setTyped(event.target.value)
          setActive(0)
        }}
        onKeyDown={onKeyDown}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        className="w-full rounded-t-xl border-b border-line bg-transparent px-4 py-3.5 text-base outline-none placeholder:text-muted"
      />
      <div id={id} role="listbox" aria-label="What fits" className="max-h-[50vh] overflow-y-auto p-2">
        {entries.map(({ label, hint, href }, each) => (
          // The field keeps the focus and has the keys: options are chosen from it.
          <button
            type="button"
            tabIndex={-1}
            key={label}
            id={`${id}-${each}`}
            role="option"
            aria-selected={each === index}
            onPointerMove={() => setActive(each)}
            onClick={() => choose(href)}
            className="flex w-full cursor-pointer justify-between gap-3 rounded-md px-2.5 py-2 text-left aria-selected:bg-soft"
          >
            <span className="truncate">{label}</span>
            <span className="text-muted">{hint}</span>
          </button>
        ))}
      </div>
    </>
  )
}
