'use client'

import { Menu } from 'lucide-react'
import { useState } from 'react'
import { Dialog } from '../../components/ui/dialog.tsx'
import { Navigation } from './navigation.tsx'

/** The navigation where there is no room for it beside the page. */
export function NavDrawer() {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        aria-label="Open the navigation"
        onClick={() => setOpen(true)}
        className="-ml-1 flex size-8 shrink-0 cursor-pointer items-center justify-center rounded-lg text-muted hover:bg-soft hover:text-ink md:hidden"
      >
        <Menu aria-hidden className="size-4.5" />
      </button>
      <Dialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title="Navigation"
        isBare
        className="top-0 left-0 h-dvh max-h-none w-60 translate-x-0 rounded-none border-y-0 border-l-0 px-2.5 py-4"
      >
        <Navigation onNavigate={() => setOpen(false)} />
      </Dialog>
    </>
  )
}
