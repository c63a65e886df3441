import { TRPCError } from '@trpc/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CoreError, errorCodes } from '../lib/errors.ts'
import { isUnexpected, refusalShape, toErrorShape } from './error-shape.ts'

const shapeOf = (error: TRPCError) =>
  toErrorShape({ message: error.message, code: -32603, data: { code: error.code, httpStatus: 500, path: 'a.b', stack: 'secret' } }, error)
const thrown = (cause: unknown) => new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause })

describe('toErrorShape', () => {
  it('gives each code of the core its name and a status that fits', () => {
    const statuses = Object.fromEntries(errorCodes.map((code) => [code, shapeOf(thrown(new CoreError(code, 'why'))).data]))
    expect(Object.entries(statuses).map(([code, data]) => [code, data.code, data.httpStatus])).toEqual([
      ['not_found', 'not_found', 404],
      ['already_exists', 'already_exists', 409],
      ['conflict', 'conflict', 409],
      ['owner_missing', 'owner_missing', 422],
      ['invalid', 'invalid', 400],
      ['unsupported', 'unsupported', 501],
      ['unauthorized', 'unauthorized', 401],
      ['forbidden', 'forbidden', 403],
      ['unavailable', 'unavailable', 503],
      ['timeout', 'timeout', 504],
      ['exhausted', 'exhausted', 429],
      ['aborted', 'aborted', 499],
      ['internal', 'internal', 500],
    ])
  })

  it('hands on message and details, never cause or stack', () => {
    const error = new CoreError('conflict', 'changed by ada', { details: { changedBy: 'ada' }, cause: new Error('password=hunter2') })
    const shape = shapeOf(thrown(error))
    expect(shape).toEqual({
      message: 'changed by ada',
      code: -32009,
      data: { code: 'conflict', httpStatus: 409, path: 'a.b', details: { changedBy: 'ada' } },
    })
    expect(JSON.stringify(shape)).not.toMatch(/hunter2|secret|stack/)
  })

  it('says nothing of a bug, not even in the details of our own internal errors', () => {
    for (const cause of [new Error('at /home/x.ts'), 'text', new CoreError('internal', 'at /home/x.ts', { details: { file: 'x.ts' } })]) {
      const shape = shapeOf(thrown(cause))
      expect(shape.data).toEqual({ code: 'internal', httpStatus: 500, path: 'a.b', details: {} })
      expect(JSON.stringify(shape)).not.toMatch(/x\.ts|text/)
    }
  })

  it('names the fields of wrong input', () => {
    const { error } = z.strictObject({ keys: z.array(z.strictObject({ name: z.string() })) }).safeParse({ keys: [{ name: 1 }], more: 1 })
    const shape = shapeOf(new TRPCError({ code: 'BAD_REQUEST', cause: error }))
    expect(shape.data.code).toBe('invalid')
    expect(shape.message).toContain('keys.0.name: ')
    expect(shape.data.details).toMatchObject({ issues: [{ field: 'keys.0.name' }, { field: '' }] })
  })

  it("keeps the status of what tRPC itself refuses, in the core's words", () => {
    const codes = (['NOT_FOUND', 'METHOD_NOT_SUPPORTED', 'PAYLOAD_TOO_LARGE', 'PARSE_ERROR'] as const).map((code) => {
      const { data } = shapeOf(new TRPCError({ code }))
      return [data.code, data.httpStatus]
    })
    expect(codes).toEqual([
      ['not_found', 404],
      ['unsupported', 405],
      ['exhausted', 413],
      ['invalid', 400],
    ])
  })
})

describe('isUnexpected', () => {
  it('is what the middleware has not logged', () => {
    expect(isUnexpected(thrown(new Error('bug')))).toBe(true)
    expect(isUnexpected(thrown(new CoreError('internal', 'logged')))).toBe(false)
    expect(isUnexpected(new TRPCError({ code: 'NOT_FOUND' }))).toBe(false)
  })
})

describe('refusalShape', () => {
  it('looks like any other error of the API', () => {
    expect(refusalShape({ status: 403, code: 'forbidden', message: 'no' })).toEqual({
      error: { message: 'no', code: -32003, data: { code: 'forbidden', httpStatus: 403, details: {} } },
    })
  })
})
