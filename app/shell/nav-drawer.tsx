'use client'

import { Menu } from 'lucide-react'
import { useState } from 'react'
import { LazyDialog } from './lazy-dialogs.tsx'

/** The navigation where there is no room for it beside the page. */
export function NavDrawer() {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-label="Open the navigation"
        onClick={() => setOpen(true)}
        className="-ml-1 flex size-8 shrink-0 cursor-pointer items-center justify-center rounded-lg text-muted hover:bg-soft hover:text-ink md:hidden"
      >
        <Menu aria-hidden className="size-4.5" />
      </button>
      <LazyDialog name="navigation" isOpen={isOpen} onOpenChange={setOpen} />
    </>
  )
}
