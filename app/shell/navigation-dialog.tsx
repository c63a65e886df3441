'use client'

import { Dialog } from '../../components/ui/dialog.tsx'
import type { DialogState } from './lazy-dialogs.tsx'
import { Navigation } from './navigation.tsx'

export function NavigationDialog({ isOpen, onOpenChange }: DialogState) {
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title="Navigation"
      isBare
      className="top-0 left-0 h-dvh max-h-none w-60 translate-x-0 rounded-none border-y-0 border-l-0 px-2.5 py-4"
    >
      <Navigation onNavigate={() => onOpenChange(false)} />
    </Dialog>
  )
}
