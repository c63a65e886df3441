import { expect, it } from 'vitest'
import { CoreError, isCoreError, toCoreError } from './errors.ts'

it('recognises its own by brand and code, also of a class that was loaded twice', () => {
  const error = new CoreError('conflict', 'lost', { details: { a: 1 } })
  expect(isCoreError(error)).toBe(true)
  expect(isCoreError(error, 'conflict')).toBe(true)
  expect(isCoreError(error, 'invalid')).toBe(false)
  expect(isCoreError({ [Symbol.for('tidewatch.CoreError')]: true, code: 'conflict' }, 'conflict')).toBe(true)
  for (const other of [new Error('conflict'), { code: 'conflict' }, 'conflict', null, undefined]) expect(isCoreError(other)).toBe(false)
})

it('keeps a cause for the log and says in its message only what it was given', () => {
  const cause = new Error('secret')
  const error = new CoreError('unavailable', 'down', { cause })
  expect(error.cause).toBe(cause)
  expect(error.message).toBe('down')
  expect(error.safeToRetry).toBe(false)
  expect('cause' in new CoreError('unavailable', 'down')).toBe(false)
})

it('makes a CoreError of anything thrown: ours as it is, an abort as one, all else internal', () => {
  const own = new CoreError('not_found', 'gone')
  expect(toCoreError(own)).toBe(own)
  expect(toCoreError(AbortSignal.abort().reason)).toMatchObject({ code: 'aborted' })
  const odd = new TypeError('x is undefined')
  expect(toCoreError(odd)).toMatchObject({ code: 'internal', message: 'unexpected error', cause: odd })
  expect(toCoreError('text')).toMatchObject({ code: 'internal', cause: 'text' })
})
