import { describe, expect, it } from 'vitest'
import { type Keypress, type Shortcut, shortcutOf } from './key-chords.ts'

const press = (key: string, more: Partial<Keypress> = {}): Keypress => ({
  key,
  hasModifier: false,
  hasCommand: false,
  isTyping: false,
  ...more,
})

describe('keys', () => {
  it.each<readonly [name: string, keypress: Keypress, chordAge: number | undefined, shortcut: Shortcut | undefined]>([
    ['g begins a chord', press('g'), undefined, { kind: 'chord' }],
    ['g s goes to Sinks', press('s'), 200, { kind: 'go', href: '/sinks' }],
    ['g i goes to Insights', press('i'), 200, { kind: 'go', href: '/insights' }],
    ['g o goes to Overview', press('O'), 200, { kind: 'go', href: '/' }],
    ['g g begins anew', press('g'), 200, { kind: 'chord' }],
    ['s long after g is nothing', press('s'), 1_500, undefined],
    ['s alone is nothing', press('s'), undefined, undefined],
    ['another key ends a chord', press('x'), 200, undefined],
    ['? helps', press('?'), undefined, { kind: 'help' }],
    ['? in a field is a question mark', press('?', { isTyping: true }), undefined, undefined],
    ['g in a field is a letter', press('g', { isTyping: true }), undefined, undefined],
    ['Ctrl K finds', press('k', { hasCommand: true }), undefined, { kind: 'palette' }],
    ['Ctrl K finds in a field too', press('K', { hasCommand: true, isTyping: true }), undefined, { kind: 'palette' }],
    ['Ctrl G is the browser’s', press('g', { hasCommand: true }), undefined, undefined],
    ['Alt S after g is the browser’s', press('s', { hasModifier: true }), 200, undefined],
  ])('%s', (...[, keypress, chordAge, shortcut]) => expect(shortcutOf(keypress, chordAge)).toEqual(shortcut))
})
