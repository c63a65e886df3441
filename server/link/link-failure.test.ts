import { describe, expect, it } from 'vitest'
import { linkErrorClasses } from '../model/link-row.ts'
import type { Connector } from './connector.ts'
import { classOfStatus, isEndpointDown, isLinkFailure, LinkFailure, toLinkFailure } from './link-failure.ts'

describe('a link failure', () => {
  it('says for every class what an operator can do', () => {
    for (const failureClass of linkErrorClasses) expect(new LinkFailure(failureClass, 'x').hint).toMatch(/\w.*\.$/)
    expect(new LinkFailure('forbidden', 'x', { hint: 'rules: []' }).hint).toBe('rules: []')
  })

  it('takes the whole endpoint for down when there is no connection, and only then unless it is told', () => {
    const down = linkErrorClasses.filter((failureClass) => new LinkFailure(failureClass, 'x').endpointDown)
    expect(down).toEqual(['network'])
    expect(new LinkFailure('server', 'x', { endpointDown: true }).endpointDown).toBe(true)
  })

  it('is what an attempt rejects with', async () => {
    const failure = new LinkFailure('throttled', 'too many requests', { retryAfterMs: 3000 })
    const connector: Connector = { connect: () => Promise.reject(failure) }
    await expect(connector.connect({} as never)).rejects.toMatchObject({ class: 'throttled', retryAfterMs: 3000, endpointDown: false })
  })

  it('is what anything else that was thrown becomes: a protocol error that keeps its cause', () => {
    const cause = new TypeError('x is undefined')
    const failure = toLinkFailure(cause)
    expect(failure).toMatchObject({ class: 'protocol', message: 'unexpected: x is undefined', cause })
    expect(toLinkFailure(failure)).toBe(failure)
    expect(toLinkFailure('gone fishing').message).toBe('unexpected: gone fishing')
    expect([isLinkFailure(failure), isLinkFailure(cause), isLinkFailure(null)]).toEqual([true, false, false])
  })

  it('has the class of an HTTP status', () => {
    const classes = [200, 304, 400, 401, 403, 404, 409, 410, 429, 500, 502, 503, 504].map((status) => [status, classOfStatus(status)])
    expect(classes).toEqual([
      [200, undefined],
      [304, undefined],
      [400, 'protocol'],
      [401, 'unauthorized'],
      [403, 'forbidden'],
      [404, 'not_found'],
      [409, 'protocol'],
      [410, 'gone'],
      [429, 'throttled'],
      [500, 'server'],
      [502, 'server'],
      [503, 'server'],
      [504, 'server'],
    ])
    expect([500, 501, 502, 503, 504, 505].filter(isEndpointDown)).toEqual([502, 503, 504])
  })
})
