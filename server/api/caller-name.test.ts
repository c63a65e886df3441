import { describe, expect, it } from 'vitest'
import { callerName } from './caller-name.ts'

describe('callerName', () => {
  it('is what the browser says, in any script', () => {
    expect(callerName('ada', '127.0.0.1')).toBe('ada')
    expect(callerName(encodeURIComponent('Zoë Müller (大)'), '127.0.0.1')).toBe('Zoë Müller 大')
  })

  it('is one short line without markup or control characters', () => {
    expect(callerName('<b>a</b>\n\tda%0d%0a', '127.0.0.1')).toBe('babda')
    expect(callerName('  a    b  ', '127.0.0.1')).toBe('a b')
    expect(callerName('x'.repeat(500), '127.0.0.1')).toHaveLength(64)
    expect(callerName('100%', '127.0.0.1')).toBe('100')
  })

  it('is the address where nothing usable is said', () => {
    for (const claimed of [undefined, '', '  ', '<>', []]) expect(callerName(claimed, '127.0.0.1')).toBe('operator@127.0.0.1')
    expect(callerName(undefined, '::ffff:127.0.0.1')).toBe('operator@127.0.0.1')
    expect(callerName(undefined, undefined)).toBe('operator@unknown')
  })
})
