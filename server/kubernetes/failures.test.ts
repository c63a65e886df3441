import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { retryAfterOf, statusOf, toRefusal } from './answer-failure.ts'
import { errorWord, toConnectionFailure } from './connection-failure.ts'
import { recordedAnswer } from './testing/recorded.ts'
import type { WatchedKind } from './watched-kind.ts'

const nodes: WatchedKind = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', isNamespaced: false }
const backups: WatchedKind = { group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups', isNamespaced: true }

function refusalOf(name: string, { kind = nodes, namespace }: { kind?: WatchedKind; namespace?: string } = {}) {
  const { status, headers, body } = recordedAnswer(name)
  return toRefusal({
    status: statusOf(status, body),
    retryAfterMs: retryAfterOf(headers['retry-after']),
    asked: { kind, namespace, context: 'edge' },
  })
}

describe('a refusal', () => {
  it('of 403 prints the whole manifest that grants it to who we are', () => {
    const failure = refusalOf('forbidden.txt')
    expect(failure).toMatchObject({ class: 'forbidden', endpointDown: false })
    expect(failure.message).toContain('User "viewer" cannot list resource "nodes"')
    expect(parseAllDocuments(failure.hint).map((document) => document.toJS())).toEqual([
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'tidewatch-nodes' },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'tidewatch-nodes' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'tidewatch-nodes' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
      },
    ])
  })

  it('of 403 in one namespace asks for a Role there, and knows service accounts', () => {
    const status = statusOf(
      403,
      JSON.stringify({
        kind: 'Status',
        code: 403,
        reason: 'Forbidden',
        message: 'backups.example.com is forbidden: User "system:serviceaccount:ops:tidewatch" cannot watch resource "backups"',
      }),
    )
    const { hint } = toRefusal({ status, asked: { kind: backups, namespace: 'shop', context: 'edge' } })
    const [role, binding] = parseAllDocuments(hint).map((document) => document.toJS() as { kind: string; [field: string]: unknown })
    expect(role).toMatchObject({
      kind: 'Role',
      metadata: { name: 'tidewatch-backups.example.com', namespace: 'shop' },
      rules: [{ apiGroups: ['example.com'], resources: ['backups'] }],
    })
    expect(binding).toMatchObject({ kind: 'RoleBinding', subjects: [{ kind: 'ServiceAccount', namespace: 'ops', name: 'tidewatch' }] })
  })

  it('of 404 in plain text says which definition or version is missing; with a Status, that an object is', () => {
    const kind = refusalOf('not-found-kind.txt', { kind: backups })
    expect(kind).toMatchObject({ class: 'not_found', message: 'HTTP 404: 404 page not found' })
    expect(kind.hint).toContain('CustomResourceDefinition (backups.example.com)')
    const object = refusalOf('not-found-object.txt', { kind: backups, namespace: 'shop' })
    expect(object).toMatchObject({ class: 'not_found', message: 'HTTP 404 NotFound: configmaps "none" not found' })
    expect(object.hint).toContain('namespace shop')
    expect(object.hint).not.toContain('CustomResourceDefinition')
  })

  it('of 401 says whose credentials', () => {
    const failure = refusalOf('unauthorized.txt')
    expect(failure.class).toBe('unauthorized')
    expect(failure.hint).toContain('context edge')
  })

  it('of a version from the future waits as asked and does not take the endpoint for down', () => {
    expect(refusalOf('future-version.txt')).toMatchObject({ class: 'server', retryAfterMs: 1000, endpointDown: false })
  })

  it.each([
    [500, 'server', false],
    [502, 'server', true],
    [503, 'server', true],
    [504, 'server', true],
    [429, 'throttled', false],
    [302, 'protocol', false],
    [400, 'protocol', false],
  ])('of %i is %s', (code, failureClass, endpointDown) => {
    const status = statusOf(code, '<html>  <b>not\nours</b></html>')
    const failure = toRefusal({ status, retryAfterMs: retryAfterOf('3'), asked: { kind: nodes, namespace: undefined, context: 'edge' } })
    expect(failure).toMatchObject({
      class: failureClass,
      endpointDown,
      retryAfterMs: 3000,
      message: `HTTP ${code}: <html> <b>not ours</b></html>`,
    })
  })

  it('reads Retry-After in seconds and nothing else', () => {
    expect([retryAfterOf('0'), retryAfterOf('12'), retryAfterOf('soon'), retryAfterOf('-1'), retryAfterOf(undefined)]).toEqual([
      0,
      12_000,
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('a connection that failed', () => {
  const endpoint = { server: 'https://10.0.0.1:6443', context: 'edge' }
  const errorWith = (code: string, message = code) => Object.assign(new Error(message), { code })

  it.each([
    ['ECONNREFUSED', 'network', 'Nothing listens'],
    ['ECONNRESET', 'network', 'cut the connection'],
    ['ENOTFOUND', 'network', 'unknown to DNS'],
    ['ETIMEDOUT', 'network', 'did not answer in time'],
    ['CERT_HAS_EXPIRED', 'unauthorized', 'has expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'unauthorized', 'certificate-authority'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'unauthorized', 'tls-server-name'],
    ['EPROTO', 'protocol', 'does not speak TLS'],
  ])('with %s is %s, and says what to look at', (code, failureClass, words) => {
    const failure = toConnectionFailure(errorWith(code), endpoint)
    expect(failure.class).toBe(failureClass)
    expect(failure.hint).toContain(words)
    expect(failure.endpointDown).toBe(failureClass === 'network')
    expect(errorWord(errorWith(code))).toBe(code)
  })

  it('to a host with several addresses is judged by the first', () => {
    const all = new AggregateError([errorWith('ECONNREFUSED', 'connect ECONNREFUSED ::1:6443'), errorWith('ECONNREFUSED')])
    expect(toConnectionFailure(all, endpoint)).toMatchObject({
      class: 'network',
      message: 'https://10.0.0.1:6443: connect ECONNREFUSED ::1:6443',
    })
  })
})
