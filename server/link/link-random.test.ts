import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { linkErrorClasses } from '../model/link-row.ts'
import type { LinkAttempt } from './connector.ts'
import { LinkFailure } from './link-failure.ts'
import { createLinkRegistry } from './link-registry.ts'
import { createPlainGatePolicy, createPlainTuning, linkSpec, silentLog, silentObserver } from './testing/scripted-connector.ts'

const ids = ['a', 'b', 'c', 'd']
const command = fc.oneof(
  fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
  fc.record({
    do: fc.constantFrom('end', 'live', 'answer', 'pause', 'resume', 'retryNow', 'remove', 'add', 'quick', 'slow'),
    link: fc.constantFrom(...ids),
  }),
  fc.record({
    do: fc.constant('fail' as const),
    link: fc.constantFrom(...ids),
    class: fc.constantFrom(...linkErrorClasses),
    down: fc.boolean(),
  }),
)

it('whatever operators and endpoints do: no two attempts of a link at once, all live once they may be, nothing left behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const clock = createFakeClock()
      const tuning = createPlainTuning()
      const gate = createPlainGatePolicy()
      const open = new Map<string, { readonly attempt: LinkAttempt; readonly done: PromiseWithResolvers<void> }>()
      const links = createLinkRegistry({
        clock,
        random: () => 0.5,
        log: silentLog,
        observer: silentObserver,
        tuningOf: () => tuning,
        gatePolicy: gate,
      })
      let isHealed = false
      const add = (id: string) =>
        links.add(
          linkSpec(id, {
            async connect(attempt) {
              expect(open.has(id)).toBe(false)
              const done = Promise.withResolvers<void>()
              open.set(id, { attempt, done })
              attempt.signal.addEventListener('abort', () => done.reject(attempt.signal.reason), { once: true })
              if (isHealed) attempt.live()
              await done.promise.finally(() => open.delete(id))
            },
          }),
        )
      for (const id of ids) add(id)
      const stopping = new AbortController()
      const done = links.run(stopping.signal)
      await clock.advance(0)

      for (const step of commands) {
        if (step.do === 'pass') await clock.advance(step.ms)
        else if (step.do === 'add') {
          if (!links.has(step.link)) add(step.link)
        } else if (step.do === 'remove') await Promise.all([links.remove(step.link), clock.advance(0)])
        else if (step.do === 'quick' || step.do === 'slow') tuning.set({ baseBackoffMs: step.do === 'quick' ? 100 : 20_000 })
        else if (step.do === 'pause' || step.do === 'resume' || step.do === 'retryNow') {
          if (links.has(step.link)) links[step.do](step.link, 'ada')
        } else {
          const present = open.get(step.link)
          if (step.do === 'live') present?.attempt.live()
          else if (step.do === 'answer') present?.attempt.request('list', 200)
          else if (step.do === 'end') present?.done.resolve()
          else if (step.do === 'fail') present?.done.reject(new LinkFailure(step.class, 'x', { endpointDown: step.down }))
        }
        await clock.advance(0)
        // One probes at most, and who waits for it knows whom for.
        const rows = links.list()
        expect(rows.filter(({ probing }) => probing).length).toBeLessThanOrEqual(1)
        for (const { state, waitingFor } of rows) if (waitingFor !== null) expect([state.kind, state.until]).toEqual(['waiting', undefined])
      }

      isHealed = true
      for (const { id } of links.list()) links.resume(id, 'ada')
      for (const { attempt } of open.values()) attempt.live()
      await clock.advance(60_000)
      expect(links.list().filter(({ state, health }) => state.kind !== 'live' || health !== 'healthy')).toEqual([])
      stopping.abort()
      await clock.advance(0)
      await done
      expect([clock.pending(), open.size]).toEqual([0, 0])
    }),
    { numRuns: 60 },
  )
})
