'use client'

import { User } from 'lucide-react'
import { useState } from 'react'
import { useOperatorName } from '../use-operator-name.ts'
import { LazyDialog } from './lazy-dialogs.tsx'

/** Who changes are written down as having been made by. */
export function OperatorButton() {
  const name = useOperatorName()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-label={`You are ${name}. Change your name`}
        onClick={() => setOpen(true)}
        className="flex w-full cursor-pointer items-center gap-2 rounded-lg px-2.5 py-1.5 text-left text-muted hover:bg-soft hover:text-ink"
      >
        <User aria-hidden className="size-3.5 shrink-0" />
        <span className="truncate">{name}</span>
      </button>
      <LazyDialog name="operator" isOpen={isOpen} onOpenChange={setOpen} />
    </>
  )
}
