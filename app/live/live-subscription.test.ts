import { describe, expect, it } from 'vitest'
import type { Key, LiveFrame } from '../../server/model/views.ts'
import { createLiveSubscription, type LiveListeners, type LiveScope } from './live-subscription.ts'

const key = (name: string): Key => ({ type: 'DataplaneInsight', mesh: 'default', name })
const tick: LiveFrame = { kind: 'tick', now: 1 }

function createTab() {
  const opened: { readonly scope: LiveScope; readonly on: LiveListeners; isOpen: boolean }[] = []
  const timers = new Set<{ readonly run: () => void; readonly ms: number }>()
  const frames: (readonly string[])[] = []
  let lost = 0
  const subscription = createLiveSubscription({
    open(scope, on) {
      const feed = { scope, on, isOpen: true }
      opened.push(feed)
      return () => {
        feed.isOpen = false
      }
    },
    onFrame: (_, scope) => frames.push(scope.map(({ name }) => name)),
    onLost: () => lost++,
    later(run, ms) {
      const timer = { run, ms }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })
  return {
    subscription,
    opened,
    frames,
    timers,
    lost: () => lost,
    open: () => opened.filter(({ isOpen }) => isOpen),
    pass() {
      const due = [...timers]
      timers.clear()
      for (const { run } of due) run()
    },
  }
}

describe('the one subscription of a tab', () => {
  it('follows the counters at a glance, and the rows on screen once they have settled', () => {
    const tab = createTab()
    tab.subscription.start()
    tab.subscription.start()
    expect(tab.opened.map(({ scope }) => scope)).toEqual([{ counters: 'glance' }])
    tab.subscription.setRows([key('a')])
    tab.subscription.setRows([key('b')])
    tab.subscription.setRows([key('b')])
    expect(tab.opened).toHaveLength(1)
    tab.pass()
    expect(tab.open().map(({ scope }) => scope)).toEqual([{ counters: 'glance', insights: [key('b')] }])
    tab.subscription.stop()
  })

  it('follows all counters while somebody shows them, from one page that does to the next without a change', () => {
    const tab = createTab()
    const leaveOverview = tab.subscription.followCounters()
    tab.subscription.start()
    const leaveSinks = tab.subscription.followCounters()
    leaveOverview()
    expect(tab.timers.size).toBe(0)
    expect(tab.opened.map(({ scope }) => scope)).toEqual([{ counters: true }])
    leaveSinks()
    tab.pass()
    expect(tab.open().map(({ scope }) => scope)).toEqual([{ counters: 'glance' }])
    tab.subscription.followCounters()
    tab.pass()
    expect(tab.open().map(({ scope }) => scope)).toEqual([{ counters: true }])
    tab.subscription.stop()
  })

  it('opens the new scope before it ends the old one, and takes nothing from the old one any more', () => {
    const tab = createTab()
    tab.subscription.start()
    tab.subscription.setRows([key('a')])
    tab.pass()
    const [old, present] = tab.opened
    expect([old?.isOpen, present?.isOpen]).toEqual([false, true])
    old!.on.onFrame(tick)
    old!.on.onLost()
    old!.on.onEnd()
    present!.on.onFrame(tick)
    expect(tab.frames).toEqual([['a']])
    expect(tab.lost()).toBe(0)
    expect(tab.timers.size).toBe(0)
    tab.subscription.stop()
  })

  it('opens again after a second when the server ended it, with the rows that are on screen then', () => {
    const tab = createTab()
    tab.subscription.start()
    tab.opened[0]!.on.onEnd()
    expect(tab.lost()).toBe(1)
    expect([...tab.timers].map(({ ms }) => ms)).toEqual([1_000])
    tab.subscription.setRows([key('a')])
    expect(tab.timers.size).toBe(1)
    tab.pass()
    expect(tab.opened[1]?.scope.insights).toEqual([key('a')])
    tab.subscription.stop()
  })

  it.each(['open', 'settling', 'waiting to open again'])('leaves nothing behind when it is stopped while %s', (state) => {
    const tab = createTab()
    tab.subscription.start()
    if (state === 'settling') tab.subscription.setRows([key('a')])
    if (state === 'waiting to open again') tab.opened[0]!.on.onEnd()
    tab.subscription.stop()
    if (state !== 'waiting to open again') expect(tab.open()).toEqual([])
    expect(tab.timers.size).toBe(0)
  })
})
