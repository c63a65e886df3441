import { status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { CoreError } from './errors.ts'
import { toGrpcStatus } from './grpc-status.ts'

describe('the status a gRPC peer is told', () => {
  it('is the code that fits, with what was wrong', () => {
    expect(toGrpcStatus(new CoreError('invalid', 'no node'))).toEqual({ code: status.INVALID_ARGUMENT, details: 'no node' })
  })
  it('blames nobody for an end that the peer wanted', () => {
    expect(toGrpcStatus(new CoreError('aborted', 'it ended while it connected')).code).toBe(status.CANCELLED)
  })
  it('tells nothing of a fault of ours', () => {
    expect(toGrpcStatus(new CoreError('internal', 'secret'))).toEqual({ code: status.UNAVAILABLE, details: 'unexpected error' })
  })
  it('can be sent, whatever the peer said: short, and without halves of characters, which the transport throws at', () => {
    const { details } = toGrpcStatus(new CoreError('invalid', `\ud800${'x'.repeat(100_000)}`))
    expect(details.length).toBeLessThan(1_100)
    expect(() => encodeURI(details)).not.toThrow()
  })
})
