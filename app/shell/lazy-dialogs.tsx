'use client'

import { type ComponentType, lazy, Suspense } from 'react'

export interface DialogState {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

/** What opens over a page is not part of its first load; it is fetched once the page is there, so that it opens without a server too. */
const loaders = {
  palette: () => import('./palette.tsx').then(({ Palette }) => ({ default: Palette })),
  help: () => import('./help-dialog.tsx').then(({ HelpDialog }) => ({ default: HelpDialog })),
  operator: () => import('./operator-dialog.tsx').then(({ OperatorDialog }) => ({ default: OperatorDialog })),
  navigation: () => import('./navigation-dialog.tsx').then(({ NavigationDialog }) => ({ default: NavigationDialog })),
}
export type DialogName = keyof typeof loaders

const dialogs: Readonly<Record<DialogName, ComponentType<DialogState>>> = {
  palette: lazy(loaders.palette),
  help: lazy(loaders.help),
  operator: lazy(loaders.operator),
  navigation: lazy(loaders.navigation),
}

export function preloadDialogs(): void {
  // One that could not be fetched now is fetched when it is opened.
  for (const load of Object.values(loaders)) load().catch(() => {})
}

export function LazyDialog({ name, ...state }: DialogState & { readonly name: DialogName }) {
  const Content = dialogs[name]
  if (!state.isOpen) return null
  return (
    <Suspense fallback={null}>
      <Content {...state} />
    </Suspense>
  )
}
