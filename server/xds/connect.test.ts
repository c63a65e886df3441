import { describe, expect, it } from 'vitest'
import { yieldToEventLoop } from '../lib/clock.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import { connect, type Connecting, connectSteps } from './connect.ts'
import type { Registered } from './lifecycle.ts'

const subject = { type: 'Dataplane', mesh: 'default', name: 'web' }
const connecting = (signal = new AbortController().signal): Connecting => ({
  identity: { nodeId: 'default.web', subject, dataplane: undefined, agent: undefined },
  sessionId: 's1',
  signal,
})

function start(
  over: { readonly isNew?: boolean; readonly storeSignalsWrites?: boolean; readonly fails?: string; readonly isReady?: Promise<void> } = {},
) {
  const clock = createFakeClock()
  const did: string[] = []
  const note = (what: string) => {
    did.push(what)
    if (over.fails === what) throw new Error(`${what} failed`)
  }
  const registered = { resource: { key: subject }, isNew: over.isNew ?? true, isOwn: true } as unknown as Registered
  const steps = connectSteps({
    clock,
    lifecycle: {
      register() {
        note('register')
        return Promise.resolve(registered)
      },
      left: () => note('left'),
      size: () => 0,
      pending: () => 0,
      freeze: () => undefined,
      run: () => Promise.resolve(),
    },
    directory: { put: () => note('visible'), ready: () => over.isReady ?? Promise.resolve() },
    storeSignalsWrites: over.storeSignalsWrites ?? true,
    cacheTtlMs: createTunable(1_000),
    startSync() {
      note('sync')
      return { undo: () => note('sync ended') }
    },
    startStatus() {
      note('status')
      return { undo: () => note('status ended') }
    },
  })
  return { clock, did, steps }
}

describe('connecting', () => {
  it('registers, makes visible, starts sync and status, in this order, without any wait, and undoes it backwards', async () => {
    const { clock, did, steps } = start()
    const undo = await connect(steps, connecting())
    expect(did).toEqual(['register', 'visible', 'sync', 'status'])
    expect(clock.pending()).toBe(0)
    undo()
    undo()
    expect(did.slice(4)).toEqual(['status ended', 'sync ended', 'left'])
  })

  it('undoes what was done when a later step fails', async () => {
    const { did, steps } = start({ fails: 'status' })
    await expect(connect(steps, connecting())).rejects.toThrow('status failed')
    expect(did).toEqual(['register', 'visible', 'sync', 'status', 'sync ended', 'left'])
  })

  it('undoes what was done when the peer goes meanwhile', async () => {
    const ready = Promise.withResolvers<void>()
    const { did, steps } = start({ isReady: ready.promise })
    const ending = new AbortController()
    const connected = connect(steps, connecting(ending.signal))
    await yieldToEventLoop()
    ending.abort(new Error('gone'))
    await expect(connected).rejects.toThrow('gone')
    expect(did).toEqual(['register', 'left'])
  })

  it('waits one cache expiry where the store cannot signal its writes, and only for what it made itself', async () => {
    const made = start({ storeSignalsWrites: false })
    const connected = connect(made.steps, connecting())
    await made.clock.advance(999)
    expect(made.did).toEqual(['register', 'visible'])
    await made.clock.advance(1)
    await connected
    expect(made.did.at(-1)).toBe('status')

    const known = start({ storeSignalsWrites: false, isNew: false })
    await connect(known.steps, connecting())
    expect(known.did.at(-1)).toBe('status')
    expect(known.clock.pending()).toBe(0)
  })
})
