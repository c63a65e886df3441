import { destinations } from './destinations.ts'

export type Shortcut =
  | { readonly kind: 'go'; readonly href: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'palette' }
  /** The first key of two: the next one decides. */
  | { readonly kind: 'chord' }

export interface Keypress {
  readonly key: string
  readonly hasModifier: boolean
  readonly hasCommand: boolean
  /** Into a field, where letters are letters. */
  readonly isTyping: boolean
}

/** What a key means where nothing else took it. `chordAge`: ms since a g was pressed, undefined when none was. */
export function shortcutOf({ key, hasModifier, hasCommand, isTyping }: Keypress, chordAge: number | undefined): Shortcut | undefined {
  if (hasCommand && key.toLowerCase() === 'k') return { kind: 'palette' }
  if (hasModifier || hasCommand || isTyping) return undefined
  if (chordAge !== undefined && chordAge < CHORD_MS) {
    const destination = destinations.find(({ chord }) => chord === key.toLowerCase())
    if (destination !== undefined) return { kind: 'go', href: destination.href }
  }
  if (key === 'g') return { kind: 'chord' }
  return key === '?' ? { kind: 'help' } : undefined
}

const CHORD_MS = 1_500
