import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kind } from '../model/kinds/dataplane.ts'
import { populate, seededRandom } from './population.ts'

describe('the simulated population', () => {
  it('is the same for the same seed and another for another', () => {
    expect(populate(['default', 'shop'], 50, 7)).toEqual(populate(['default', 'shop'], 50, 7))
    expect(populate(['default', 'shop'], 50, 7)).not.toEqual(populate(['default', 'shop'], 50, 8))
  })

  it('registers nothing that a control plane would refuse, under unique names, spread evenly over the meshes', () => {
    const fleet = populate(['default', 'shop'], 200, 1)
    for (const { spec } of fleet) expect(() => kind.parseSpec(spec)).not.toThrow()
    expect(new Set(fleet.map(({ mesh, name }) => `${mesh}.${name}`)).size).toBe(200)
    expect(fleet.filter(({ mesh }) => mesh === 'shop')).toHaveLength(100)
  })

  it('draws numbers from 0 up to, but never, 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (seed) => {
        const random = seededRandom(seed)
        for (let draw = 0; draw < 100; draw++) {
          const value = random()
          if (value < 0 || value >= 1) return false
        }
        return true
      }),
    )
  })
})
