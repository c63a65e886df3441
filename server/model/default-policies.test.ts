import { describe, expect, it } from 'vitest'
import { isCoreError } from '../lib/errors.ts'
import { defaultPolicies } from './default-policies.ts'
import { loadKinds } from './load-kinds.ts'

const kinds = await loadKinds()

describe('the policies of a new Mesh', () => {
  it('are those that control planes of the Kuma family make, under the names they give them', () => {
    expect(defaultPolicies('demo').map(({ key }) => `${key.type} ${key.mesh}/${key.name}`)).toEqual([
      'MeshTimeout demo/mesh-timeout-all-demo',
      'MeshTimeout demo/mesh-timeout-to-all-demo',
      'MeshRetry demo/mesh-retry-all-demo',
      'MeshCircuitBreaker demo/mesh-circuit-breaker-all-demo',
    ])
  })

  it('are valid by the rules of their kinds', () => {
    for (const { key, spec } of defaultPolicies('demo')) expect(kinds.get(key.type)?.parseSpec(spec)).toEqual(spec)
  })
})

describe('a policy', () => {
  const faultOf = (spec: unknown, type = 'MeshTimeout') => {
    try {
      kinds.get(type)?.parseSpec(spec)
      return 'none'
    } catch (error) {
      return isCoreError(error, 'invalid') ? error.message : String(error)
    }
  }
  const to = (conf: object) => ({ to: [{ targetRef: { kind: 'Mesh' }, default: conf }] })

  it('names the field that is wrong and what would be right', () => {
    expect(faultOf(to({ connectionTimeout: '0s' }))).toBe(
      'MeshTimeout is not valid: to.0.default.connectionTimeout: must be greater than zero when defined',
    )
    expect(faultOf(to({ idleTimeout: 'zzz' }))).toContain('to.0.default.idleTimeout: must be a duration such as "15s"')
    expect(faultOf({ targetRef: { kind: 'Mesh' } })).toContain("at least one of 'to', 'from' or 'rules' has to be defined")
    expect(faultOf(to({ http: { numRetries: 0 } }), 'MeshRetry')).toContain('to.0.default.http.numRetries')
  })

  it('keeps what it does not know', () => {
    expect(kinds.get('MeshTimeout')?.parseSpec(to({ connectionTimeout: '5s', newField: 1 }))).toEqual(
      to({ connectionTimeout: '5s', newField: 1 }),
    )
  })
})
