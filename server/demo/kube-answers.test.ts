import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expiredEvent, expiredToken, forbidden, fromToken, tooLarge, toToken, unauthorized, unknownPath } from './kube-answers.ts'

/** What the real server answered: headers, and the body. */
function recorded(name: string) {
  const text = readFileSync(join(import.meta.dirname, '../kubernetes/recorded', name), 'utf8').replace(/^#.*\n/, '')
  const end = text.indexOf('\n\n')
  return { head: text.slice(0, end), body: text.slice(end + 2).trimEnd() }
}

const refusals = [
  ['forbidden.txt', forbidden({ user: 'viewer', verb: 'list', group: '', plural: 'nodes' })],
  ['not-found-kind.txt', unknownPath],
  ['unauthorized.txt', unauthorized],
  ['future-version.txt', tooLarge(99_999_999, 262)],
  ['expired-continue.txt', expiredToken('c1')],
] as const

test.for(refusals)('%s is answered byte for byte as the real server does', ([name, { code, contentType, body, retryAfterSeconds }]) => {
  const { head, body: real } = recorded(name)
  expect(body.trimEnd()).toBe(real)
  expect(head).toContain(`HTTP/2 ${code}`)
  expect(head).toContain(`content-type: ${contentType}`)
  expect(/retry-after: (\d+)/.exec(head)?.[1]).toBe(retryAfterSeconds?.toString())
})

test('a watch whose version is gone gets the line the real server sends', () => {
  expect(JSON.stringify(expiredEvent(226, 231))).toBe(recorded('expired-watch.txt').body)
})

test('a token for a further page is the real one, and read back', () => {
  const token = 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjE4LCJzdGFydCI6ImMyXHUwMDAwIn0'
  expect(toToken(218, 'c2')).toBe(token)
  expect(fromToken(token)).toEqual({ version: 218, start: 'c2' })
  expect(fromToken('what is this')).toBeUndefined()
})
