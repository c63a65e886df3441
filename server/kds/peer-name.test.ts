import { describe, expect, it } from 'vitest'
import { fromWireName, suffixedName, toWireName } from './peer-name.ts'
import { ZONE_LABEL } from '../model/origin.ts'

describe('the name for a peer', () => {
  it('is what real control planes make of the same resource', () => {
    expect(suffixedName({ mesh: 'demo', displayName: 'slow', labels: {} })).toBe('slow-x44vd47294994d74')
    const zone = { [ZONE_LABEL]: 'zone-2' }
    expect(suffixedName({ mesh: 'default', displayName: 'dp-9', labels: zone })).toBe('dp-9-9462xzcd74b597zz')
    expect(suffixedName({ mesh: 'demo', displayName: 'dp-9', labels: zone })).toBe('dp-9-25f46z8bdwwf55w9')
    expect(suffixedName({ mesh: '', displayName: 'local-mesh-external-service', labels: zone })).toBe(
      'local-mesh-external-service-6b28vd789424f9z9',
    )
  })

  it('is never longer than a name may be', () => {
    const name = suffixedName({ mesh: 'demo', displayName: 'x'.repeat(300), labels: {} })
    expect(name).toHaveLength(253)
    expect(name).toMatch(/^x+-[a-z0-9]{16}$/)
  })

  it('is told from its mesh at the last dot', () => {
    expect(fromWireName('a.b.demo')).toEqual({ name: 'a.b', mesh: 'demo' })
    expect(fromWireName('demo.')).toEqual({ name: 'demo', mesh: '' })
    expect(fromWireName(toWireName({ name: 'v1.2', mesh: 'm' }))).toEqual({ name: 'v1.2', mesh: 'm' })
  })
})
