import { describe, expect, it } from 'vitest'
import { type Keypress, shortcutOf } from './key-chords.ts'

const press = (key: string, more: Partial<Keypress> = {}): Keypress => ({
  key,
  hasModifier: false,
  hasCommand: false,
  isTyping: false,
  ...more,
})

describe('the keys of every page', () => {
  it('go to a page after a g', () => {
    expect(shortcutOf(press('g'), undefined)).toEqual({ kind: 'chord' })
    expect(shortcutOf(press('i'), 300)).toEqual({ kind: 'go', href: '/insights' })
    expect(shortcutOf(press('s'), 300)).toEqual({ kind: 'go', href: '/sinks' })
    expect(shortcutOf(press('O'), 300)).toEqual({ kind: 'go', href: '/' })
  })

  it('mean nothing by themselves, and nothing long after the g', () => {
    expect(shortcutOf(press('i'), undefined)).toBeUndefined()
    expect(shortcutOf(press('i'), 2_000)).toBeUndefined()
    expect(shortcutOf(press('x'), 300)).toBeUndefined()
    expect(shortcutOf(press('g'), 300)).toEqual({ kind: 'chord' })
  })

  it('are letters in a field, where only the palette can be called', () => {
    expect(shortcutOf(press('g', { isTyping: true }), undefined)).toBeUndefined()
    expect(shortcutOf(press('?', { isTyping: true }), undefined)).toBeUndefined()
    expect(shortcutOf(press('k', { isTyping: true, hasCommand: true }), undefined)).toEqual({ kind: 'palette' })
  })

  it("leave the browser's own combinations alone", () => {
    expect(shortcutOf(press('g', { hasCommand: true }), undefined)).toBeUndefined()
    expect(shortcutOf(press('s', { hasModifier: true }), 300)).toBeUndefined()
  })
})
