import { describe, expect, it } from 'vitest'
import type { Key, LiveFrame } from '../../server/model/views.ts'
import { createLiveSubscription, type LiveListeners, type LiveScope } from './live-subscription.ts'

const keyOf = (name: string): Key => ({ type: 'DataplaneInsight', mesh: 'default', name })
const tick: LiveFrame = { kind: 'tick', now: 1 }

function setUp() {
  const opened: { readonly scope: LiveScope; readonly on: LiveListeners; isEnded: boolean }[] = []
  const timers: { readonly run: () => void; readonly ms: number; isOff: boolean }[] = []
  const seen: (readonly Key[])[] = []
  let lost = 0
  const subscription = createLiveSubscription({
    open(scope, on) {
      const entry = { scope, on, isEnded: false }
      opened.push(entry)
      return () => {
        entry.isEnded = true
      }
    },
    onFrame: (_, scope) => seen.push(scope),
    onLost: () => lost++,
    later(run, ms) {
      const timer = { run, ms, isOff: false }
      timers.push(timer)
      return () => {
        timer.isOff = true
      }
    },
  })
  const runTimers = () => {
    for (const timer of timers.splice(0)) if (!timer.isOff) timer.run()
  }
  const pending = () => timers.filter(({ isOff }) => !isOff).length
  return { subscription, opened, seen, runTimers, pending, lost: () => lost }
}

describe('the subscription of a tab', () => {
  it('begins with the counters alone', () => {
    const { subscription, opened } = setUp()
    subscription.start()
    subscription.start()
    expect(opened.map(({ scope }) => scope)).toEqual([{ counters: true }])
  })

  it('follows the rows on screen once they have settled, opening the new before it ends the old', () => {
    const { subscription, opened, seen, runTimers, pending } = setUp()
    subscription.start()
    subscription.setRows([keyOf('a')])
    subscription.setRows([keyOf('b')])
    expect(opened).toHaveLength(1)
    runTimers()
    expect(opened[1]!.scope).toEqual({ counters: true, insights: [keyOf('b')] })
    expect(opened.map(({ isEnded }) => isEnded)).toEqual([true, false])
    opened[0]!.on.onFrame(tick)
    opened[1]!.on.onFrame(tick)
    expect(seen).toEqual([[keyOf('b')]])
    subscription.setRows([keyOf('b')])
    expect(pending()).toBe(0)
  })

  it('is opened again when the server ends it, with the rows of then', () => {
    const { subscription, opened, runTimers, lost, pending } = setUp()
    subscription.start()
    opened[0]!.on.onEnd()
    opened[0]!.on.onEnd()
    expect(lost()).toBe(1)
    subscription.setRows([keyOf('a')])
    expect(pending()).toBe(1)
    runTimers()
    expect(opened[1]!.scope).toEqual({ counters: true, insights: [keyOf('a')] })
  })

  it('leaves nothing behind when it is stopped', () => {
    const { subscription, opened, seen, pending } = setUp()
    subscription.start()
    subscription.setRows([keyOf('a')])
    subscription.stop()
    opened[0]!.on.onFrame(tick)
    opened[0]!.on.onEnd()
    expect(opened.every(({ isEnded }) => isEnded)).toBe(true)
    expect(seen).toEqual([])
    expect(pending()).toBe(0)
    subscription.setRows([keyOf('b')])
    expect(pending()).toBe(0)
  })
})
