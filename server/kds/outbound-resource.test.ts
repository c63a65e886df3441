import { describe, expect, it } from 'vitest'
import { isOurs, toSynced } from './outbound-resource.ts'

const timeout = { key: { type: 'MeshTimeout', mesh: 'demo', name: 'slow' }, labels: { team: 'a' }, spec: {} }

describe('what is sent to a peer', () => {
  it('says that it comes from the global, since a peer drops, acknowledged, what does not', () => {
    expect(toSynced(timeout, { origin: 'global', hashSuffix: true })).toEqual({
      key: { type: 'MeshTimeout', mesh: 'demo', name: 'slow-x44vd47294994d74' },
      labels: { team: 'a', 'kuma.io/display-name': 'slow', 'kuma.io/mesh': 'demo', 'kuma.io/origin': 'global' },
      spec: {},
    })
  })

  it('keeps its name for a peer that does not ask for another, and always where names are the same everywhere', () => {
    expect(toSynced(timeout, { origin: 'global', hashSuffix: false }).key.name).toBe('slow')
    const mesh = { key: { type: 'Mesh', mesh: '', name: 'demo' }, labels: {}, spec: {} }
    expect(toSynced(mesh, { origin: 'global', hashSuffix: true })).toMatchObject({
      key: { name: 'demo' },
      labels: { 'kuma.io/display-name': 'demo', 'kuma.io/origin': 'global' },
    })
  })

  it('of two zones never has one name', () => {
    const from = (zone: string) => toSynced(timeout, { origin: { zone }, hashSuffix: true })
    expect(from('east')).toMatchObject({ labels: { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' } })
    expect(from('east').key.name).not.toBe(from('west').key.name)
  })

  it('is what was made here and is not kept at home', () => {
    const ours = (labels: Record<string, string>) => isOurs({ labels }, { origin: 'global' })
    expect(ours({})).toBe(true)
    expect(ours({ 'kuma.io/origin': 'global' })).toBe(true)
    expect(ours({ 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' })).toBe(false)
    expect(ours({ 'kuma.io/kds-sync': 'disabled' })).toBe(false)
    expect(isOurs({ labels: { 'kuma.io/origin': 'global' } }, { origin: { zone: 'east' } })).toBe(false)
  })
})
