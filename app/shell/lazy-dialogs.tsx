'use client'

import { lazyPart } from '../../components/ui/lazy-part.tsx'

export interface DialogState {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

const dialogs = {
  palette: lazyPart<DialogState>(() => import('./palette.tsx').then(({ Palette }) => Palette)),
  help: lazyPart<DialogState>(() => import('./help-dialog.tsx').then(({ HelpDialog }) => HelpDialog)),
  operator: lazyPart<DialogState>(() => import('./operator-dialog.tsx').then(({ OperatorDialog }) => OperatorDialog)),
  navigation: lazyPart<DialogState>(() => import('./navigation-dialog.tsx').then(({ NavigationDialog }) => NavigationDialog)),
}
export type DialogName = keyof typeof dialogs

export function preloadDialogs(): void {
  for (const { preload } of Object.values(dialogs)) preload()
}

export function LazyDialog({ name, ...state }: DialogState & { readonly name: DialogName }) {
  const { Part } = dialogs[name]
  return state.isOpen ? <Part {...state} /> : null
}
