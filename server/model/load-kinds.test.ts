import { describe, expect, it } from 'vitest'
import { isCoreError } from '../lib/errors.ts'
import { loadKinds } from './load-kinds.ts'

const kinds = await loadKinds()
const kindOf = (type: string) => {
  const kind = kinds.get(type)
  if (kind === undefined) throw new Error(`no kind ${type}`)
  return kind
}
const faultOf = (type: string, spec: unknown) => {
  try {
    kindOf(type).parseSpec(spec)
    return 'none'
  } catch (error) {
    return isCoreError(error, 'invalid') ? error.message : String(error)
  }
}

describe('the kinds of resources', () => {
  it('are what the folder holds, each under its own type', () => {
    expect([...kinds.keys()]).toEqual(expect.arrayContaining(['Dataplane', 'DataplaneInsight', 'Mesh', 'Zone']))
    for (const [type, kind] of kinds) expect(kind.type).toBe(type)
  })

  it('know whom they belong to: an insight to its subject, what is in a mesh to the mesh', () => {
    const key = { type: 'DataplaneInsight', mesh: 'default', name: 'dp-1' }
    const subject = kindOf('DataplaneInsight').ownerOf?.(key)
    expect(subject).toEqual({ type: 'Dataplane', mesh: 'default', name: 'dp-1' })
    expect(kindOf('Dataplane').ownerOf?.(subject!)).toEqual({ type: 'Mesh', mesh: '', name: 'default' })
    expect(kindOf('Mesh').ownerOf).toBeUndefined()
  })

  it('name owners of known kinds, in the scope that those have', () => {
    const owners = [...kinds.values()].flatMap(
      ({ type, scope, ownerOf }) => ownerOf?.({ type, mesh: scope === 'mesh' ? 'm' : '', name: 'n' }) ?? [],
    )
    expect(owners.map(({ mesh }) => (mesh === '' ? 'global' : 'mesh'))).toEqual(owners.map(({ type }) => kindOf(type).scope))
  })
})

describe('the spec of a Dataplane', () => {
  const networking = { address: '127.0.0.1', inbound: [{ port: 18_001, servicePort: 8_001, tags: { 'kuma.io/service': 'backend' } }] }

  it('is taken as data planes send it, with what we do not know kept', () => {
    expect(kindOf('Dataplane').parseSpec({ networking, probes: { port: 9_000 } })).toEqual({
      networking: { ...networking, outbound: [] },
      probes: { port: 9_000 },
    })
  })

  it('is refused by the name of the field at fault', () => {
    expect(faultOf('Dataplane', {})).toMatch(/^Dataplane is not valid: networking: /)
    expect(faultOf('Dataplane', { networking: { ...networking, address: '' } })).toMatch(/networking\.address/)
    expect(faultOf('Dataplane', { networking: { ...networking, inbound: [{ port: 0, tags: {} }] } })).toMatch(
      /networking\.inbound\.0\.port: .*networking\.inbound\.0\.tags: needs the tag kuma\.io\/service/,
    )
    expect(faultOf('Dataplane', 'text')).toMatch(/^Dataplane is not valid: Dataplane: /)
  })
})

describe('the specs of the other kinds', () => {
  it('take what is right and refuse what is not', () => {
    expect(faultOf('Mesh', {})).toBe('none')
    expect(faultOf('Mesh', { mtls: { enabledBackend: 'ca-1' } })).toBe('none')
    expect(faultOf('Mesh', { mtls: {} })).toMatch(/mtls\.enabledBackend/)
    expect(faultOf('Zone', { enabled: true })).toBe('none')
    expect(faultOf('Zone', { enabled: 'yes' })).toMatch(/enabled/)
    expect(faultOf('DataplaneInsight', { subscriptions: [] })).toBe('none')
    expect(faultOf('DataplaneInsight', {})).toMatch(/needs a list `subscriptions`/)
  })
})
