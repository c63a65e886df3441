import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { type Call, openStream, type StreamDeps } from './stream.ts'

it('ends a stream on which nothing is said for a minute, with what a stream begins with', async () => {
  const clock = createFakeClock()
  const ended: string[] = []
  const told: unknown[] = []
  const call = new EventEmitter()
  call.on('error', (status) => told.push(status))
  const deps = {
    clock,
    onRefused: ({ code }) => ended.push(code),
    onEnd: ({ id }) => ended.push(id),
  } satisfies Partial<StreamDeps>
  openStream(call as Call, deps as unknown as StreamDeps, { id: 'silent', variant: 'delta' })
  await clock.advance(59_999)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual(['silent', 'invalid'])
  expect(told).toMatchObject([{ code: 3, details: expect.stringContaining('no message within 60 s') as string }])
  expect(clock.pending()).toBe(0)
})
