import { describe, expect, it } from 'vitest'
import { refuseHost, type RequestOrigin, refusalOf } from './origin-guard.ts'

const browserPost: RequestOrigin = {
  method: 'POST',
  isUpgrade: false,
  host: '127.0.0.1:7680',
  origin: 'http://127.0.0.1:7680',
  fetchSite: 'same-origin',
  contentType: 'application/json',
  port: 7680,
}
const scriptGet: RequestOrigin = { ...browserPost, method: 'GET', origin: undefined, fetchSite: undefined, contentType: undefined }
const statusOf = (changes: Partial<RequestOrigin>, allowedHosts?: readonly string[]) =>
  refusalOf({ ...browserPost, ...changes }, allowedHosts)?.status ?? 'in'

describe('refusalOf', () => {
  it('lets in our own page, scripts, and every loopback name with our port', () => {
    expect(refusalOf(browserPost)).toBeUndefined()
    expect(refusalOf(scriptGet)).toBeUndefined()
    for (const host of ['localhost:7680', 'LOCALHOST:7680', '[::1]:7680', '127.1.2.3:7680'])
      expect(refusalOf({ ...scriptGet, host })).toBeUndefined()
    expect(refusalOf({ ...scriptGet, host: 'localhost', port: 80 })).toBeUndefined()
  })

  it('refuses a name that somebody pointed at us (DNS rebinding), whatever else it says', () => {
    for (const host of [
      'evil.example',
      'evil.example:7680',
      '127.0.0.1.evil.example:7680',
      'localhost.evil.example:7680',
      'localhost:7681',
      '127.0.0.1',
      '0.0.0.0:7680',
      '127.0.0.1:7680@evil.example',
      '[::2]:7680',
      '',
      undefined,
    ]) {
      expect(refusalOf({ ...scriptGet, host })).toMatchObject({ status: 403, code: 'forbidden' })
      expect(statusOf({ host, origin: `http://${host}` })).toBe(403)
    }
  })

  it('refuses what another site asks, be it a read, a change or a socket', () => {
    for (const origin of [
      'http://evil.example',
      'http://127.0.0.1:3000',
      'http://localhost:7680',
      'null',
      'file://',
      'http://127.0.0.1:7680/',
    ])
      for (const request of [{ method: 'GET' }, { method: 'POST' }, { method: 'GET', isUpgrade: true }])
        expect(statusOf({ ...request, origin })).toBe(403)
  })

  it('refuses what a browser marks as coming from elsewhere, also when it hides the origin', () => {
    for (const fetchSite of ['cross-site', 'same-site']) expect(statusOf({ method: 'GET', origin: undefined, fetchSite })).toBe(403)
    expect(statusOf({ method: 'GET', origin: undefined, fetchSite: 'none' })).toBe('in')
  })

  it('takes nothing but JSON: forms and plain text cross sites unasked', () => {
    for (const contentType of [
      undefined,
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain; application/json',
    ])
      expect(statusOf({ contentType })).toBe(415)
    expect(statusOf({ contentType: 'Application/JSON; charset=utf-8' })).toBe('in')
  })

  it('lets in the names it was told of, with the port where one was told', () => {
    const proxied = { host: 'tidewatch.example', origin: 'https://tidewatch.example' }
    expect(statusOf(proxied)).toBe(403)
    expect(statusOf(proxied, ['Tidewatch.example'])).toBe('in')
    expect(statusOf({ host: 'box:8080', origin: 'http://box:8080' }, ['box:8080'])).toBe('in')
    expect(statusOf({ host: 'box:8081', origin: 'http://box:8081' }, ['box:8080'])).toBe(403)
  })

  it('says what would be right', () => {
    expect(refusalOf({ ...scriptGet, host: 'evil.example' })?.message).toContain('127.0.0.1:7680')
    expect(refusalOf({ ...browserPost, contentType: 'text/plain' })?.message).toContain('application/json')
  })
})

describe('refuseHost', () => {
  it('lets people follow a link to a page, from wherever', () => {
    expect(refuseHost({ host: 'localhost:7680', port: 7680 })).toBeUndefined()
    expect(refuseHost({ host: 'evil.example', port: 7680 })).toMatchObject({ status: 403 })
  })
})
