'use client'

import { type ComponentType, lazy, Suspense, useState } from 'react'

export interface DialogState {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

/** What opens over a page is not part of its first load; it is fetched once the page is there, so that it opens without a server too. */
const loaders = {
  palette: () => import('./palette.tsx').then(({ Palette }) => Palette),
  help: () => import('./help-dialog.tsx').then(({ HelpDialog }) => HelpDialog),
  operator: () => import('./operator-dialog.tsx').then(({ OperatorDialog }) => OperatorDialog),
  navigation: () => import('./navigation-dialog.tsx').then(({ NavigationDialog }) => NavigationDialog),
} satisfies Record<string, () => Promise<ComponentType<DialogState>>>
export type DialogName = keyof typeof loaders

const names = Object.keys(loaders) as readonly DialogName[]
/** Those that are here already: drawn at once, so that what is typed right after the shortcut goes into them. */
const loaded = new Map<DialogName, ComponentType<DialogState>>()

async function load(name: DialogName): Promise<ComponentType<DialogState>> {
  const dialog = await loaders[name]()
  loaded.set(name, dialog)
  return dialog
}

export function preloadDialogs(): void {
  // One that could not be fetched now is fetched when it is opened.
  for (const name of names) load(name).catch(() => {})
}

export function LazyDialog({ name, ...state }: DialogState & { readonly name: DialogName }) {
  return state.isOpen ? <OpenDialog name={name} {...state} /> : null
}

function OpenDialog({ name, ...state }: DialogState & { readonly name: DialogName }) {
  const [Content] = useState(() => loaded.get(name) ?? lazy(async () => ({ default: await load(name) })))
  return (
    <Suspense fallback={null}>
      <Content {...state} />
    </Suspense>
  )
}
