'use client'

import { Search } from 'lucide-react'
import { usePathname } from 'next/navigation'
import { type ReactNode, useEffect, useState } from 'react'
import { destinationOf } from './destinations.ts'
import { FeedFrame } from './feed-frame.tsx'
import { useHeldNavigation } from './held-navigation.tsx'
import { LazyDialog, preloadDialogs } from './lazy-dialogs.tsx'
import { LivePill } from './live-pill.tsx'
import { NavDrawer } from './nav-drawer.tsx'
import { Navigation } from './navigation.tsx'
import { ThemeButton } from './theme-button.tsx'
import { useShortcuts } from './use-shortcuts.ts'

/** What stands around every page: where one is, where one can go, and how current it all is. */
export function AppShell({ children }: { readonly children: ReactNode }) {
  const { go } = useHeldNavigation()
  const here = destinationOf(usePathname())
  const [over, setOver] = useState<'help' | 'palette'>()
  const close = (isOpen: boolean) => {
    if (!isOpen) setOver(undefined)
  }
  useEffect(preloadDialogs, [])
  useShortcuts((shortcut) => {
    if (shortcut.kind === 'go') go(shortcut.href)
    else setOver(shortcut.kind)
  })
  return (
    <div className="grid h-dvh grid-cols-1 md:grid-cols-[12.25rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="absolute top-2 left-2 z-50 -translate-y-16 rounded-lg bg-accent px-3 py-1.5 font-semibold text-on-accent focus:translate-y-0"
      >
        Skip to the content
      </a>
      <aside aria-label="Tidewatch" className="hidden overflow-y-auto border-r border-line bg-panel px-2.5 py-3 md:block">
        <Navigation />
      </aside>
      <div className="flex min-h-0 min-w-0 flex-col">
        <header className="flex items-center gap-2 px-4 max-[360px]:gap-1.5 pt-3 pb-3 lg:px-5.5">
          <NavDrawer />
          <h1 className="mr-auto min-w-0 truncate text-lg font-semibold tracking-tight max-[360px]:text-sm">
            {here?.label ?? 'Tidewatch'}
          </h1>
          <LivePill />
          <button
            type="button"
            onClick={() => setOver('palette')}
            aria-keyshortcuts="Control+K Meta+K"
            className="flex h-8 shrink-0 cursor-pointer items-center gap-1.5 rounded-full border border-line bg-panel px-2 text-muted hover:border-accent hover:text-ink sm:px-3"
          >
            <Search aria-hidden className="size-3.5" />
            <span className="max-sm:sr-only">Search</span>
            <kbd aria-hidden className="rounded-sm border border-line px-1 text-xs max-sm:hidden">
              Ctrl K
            </kbd>
          </button>
          <button
            type="button"
            aria-label="Keyboard and help"
            title="Keyboard and help"
            onClick={() => setOver('help')}
            className="hidden size-8 shrink-0 cursor-pointer items-center justify-center rounded-full border border-line bg-panel text-muted hover:border-accent hover:text-ink sm:flex"
          >
            ?
          </button>
          <ThemeButton />
        </header>
        <FeedFrame>
          <main id="main" tabIndex={-1} className="flex min-h-0 flex-1 flex-col overflow-y-auto px-4 pb-5 outline-none lg:px-5.5">
            {children}
          </main>
        </FeedFrame>
      </div>
      <LazyDialog name="palette" isOpen={over === 'palette'} onOpenChange={close} />
      <LazyDialog name="help" isOpen={over === 'help'} onOpenChange={close} />
    </div>
  )
}
