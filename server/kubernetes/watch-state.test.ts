import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type KubeStatus, parseKubeStatus, toKubeStatus } from './kube-status.ts'
import { readWatchLine } from './read-event.ts'
import { recordedAnswer } from './testing/recorded.ts'
import { FUTURE_TRIES, nextWatchAction, nextWatchStep, NOTHING_KNOWN, type WatchMemory, type WatchOutcome } from './watch-state.ts'

const recordedStatus = (name: string): KubeStatus => parseKubeStatus(recordedAnswer(name).body)!
const expiredWatch = () => {
  const line = readWatchLine(recordedAnswer('expired-watch.txt').body.trim())
  if (line.kind !== 'error') throw new Error('the recording is no ERROR event')
  return line.status
}
const at = (version: string, changes: Partial<WatchMemory> = {}): WatchMemory => ({ ...NOTHING_KNOWN, version, ...changes })
const status = (code: number, reason = '') => toKubeStatus({ kind: 'Status', code, reason })!

describe('what a watcher does next', () => {
  it('reads everything by a streaming list first, and by pages once the server has refused one', () => {
    expect(nextWatchAction(NOTHING_KNOWN)).toEqual({ kind: 'stream_list', reason: 'start' })
    for (const code of [400, 422]) {
      const step = nextWatchStep(NOTHING_KNOWN, { kind: 'refused', phase: 'stream_list', status: status(code, 'Invalid') })
      expect(step.next).toEqual({ kind: 'go_on' })
      expect(nextWatchAction(step.memory)).toEqual({ kind: 'page_list', reason: 'start' })
    }
  })

  it('falls back to pages as well when the server takes the request and never ends the list', () => {
    expect(nextWatchAction(nextWatchStep(NOTHING_KNOWN, { kind: 'no_streaming' }).memory)).toEqual({ kind: 'page_list', reason: 'start' })
  })

  it('watches from the version of the list, and goes on from that of the last event or bookmark', () => {
    const listed = nextWatchStep(NOTHING_KNOWN, { kind: 'listed', version: '218' }).memory
    expect(nextWatchAction(listed)).toEqual({ kind: 'watch', version: '218' })
    const event = nextWatchStep(listed, { kind: 'event', version: '18014398509481985' }).memory
    expect(nextWatchAction(event)).toEqual({ kind: 'watch', version: '18014398509481985' })
    expect(nextWatchStep(event, { kind: 'bookmark', version: '9' }).memory.version).toBe('9')
  })

  it('asks whether the server has reached its version before it watches from it, once a stream broke', () => {
    const { memory } = nextWatchStep(at('7'), { kind: 'broken' })
    expect(nextWatchAction(memory)).toEqual({ kind: 'check', version: '7' })
    expect(nextWatchAction(nextWatchStep(memory, { kind: 'checked' }).memory)).toEqual({ kind: 'watch', version: '7' })
    expect(nextWatchAction(nextWatchStep(at('7'), { kind: 'ended' }).memory)).toEqual({ kind: 'watch', version: '7' })
    expect(nextWatchAction(nextWatchStep(NOTHING_KNOWN, { kind: 'broken' }).memory)).toEqual({ kind: 'stream_list', reason: 'start' })
  })

  it('keeps its version when a bookmark brings none', () => {
    expect(nextWatchStep(at('50'), { kind: 'bookmark', version: undefined }).memory.version).toBe('50')
  })

  it('never watches from a list without a version: it fails, and everything is read again', () => {
    for (const version of [undefined, '']) {
      const step = nextWatchStep(NOTHING_KNOWN, { kind: 'listed', version })
      expect(step.next).toEqual({ kind: 'no_version' })
      expect(nextWatchAction(step.memory)).toEqual({ kind: 'stream_list', reason: 'no_version' })
    }
  })

  it.each([
    ['as an ERROR event of a watch', 'watch' as const, expiredWatch],
    ['as the HTTP status of a page', 'page_list' as const, () => recordedStatus('expired-continue.txt')],
    ['as the HTTP status of a watch', 'watch' as const, () => recordedStatus('expired-exact.txt')],
  ])('reads everything again at once after 410 %s, and with backoff when it comes twice', (_, phase, read) => {
    const once = nextWatchStep(at('226'), { kind: 'refused', phase, status: read() })
    expect(once.next).toEqual({ kind: 'go_on' })
    expect(nextWatchAction(once.memory)).toEqual({ kind: 'stream_list', reason: 'gone' })
    const listed = nextWatchStep(once.memory, { kind: 'listed', version: '231' }).memory
    const twice = nextWatchStep(listed, { kind: 'refused', phase, status: read() })
    expect(twice.next).toEqual({ kind: 'fail', as: 'gone' })
    expect(twice.memory.version).toBeUndefined()
  })

  it.each<WatchOutcome>([{ kind: 'event', version: '2' }, { kind: 'bookmark', version: '2' }, { kind: 'well' }])(
    'takes a 410 for the first again once the watch was well ($kind)',
    (outcome) => {
      const { memory } = nextWatchStep(at('1', { goneInARow: 1 }), outcome)
      expect(nextWatchStep(memory, { kind: 'refused', phase: 'watch', status: expiredWatch() }).next).toEqual({ kind: 'go_on' })
    },
  )

  it('tries a version from the future twice more, then reads everything from nothing', () => {
    const future = { kind: 'refused', phase: 'watch', status: recordedStatus('future-version.txt') } as const
    expect(future.status.retryAfterMs).toBe(1000)
    let memory = at('99999999')
    for (let times = 1; times <= FUTURE_TRIES; times++) {
      const step = nextWatchStep(memory, future)
      expect(step.next).toEqual({ kind: 'fail', as: 'future_version' })
      expect(nextWatchAction(step.memory)).toEqual({ kind: 'watch', version: '99999999' })
      memory = step.memory
    }
    const last = nextWatchStep(memory, future)
    expect(last.next).toEqual({ kind: 'go_on' })
    expect(nextWatchAction(last.memory)).toEqual({ kind: 'stream_list', reason: 'future_version' })
  })

  it.each([401, 403, 429, 500, 503])('keeps its version when it is refused with %i: nothing is read again', (code) => {
    const step = nextWatchStep(at('7'), { kind: 'refused', phase: 'watch', status: status(code) })
    expect(step).toEqual({ memory: at('7'), next: { kind: 'fail', as: 'refused' } })
  })

  it('reads everything again after the kind was missing', () => {
    const { memory, next } = nextWatchStep(at('7'), { kind: 'refused', phase: 'watch', status: status(404) })
    expect(next).toEqual({ kind: 'fail', as: 'refused' })
    expect(nextWatchAction(memory)).toEqual({ kind: 'stream_list', reason: 'gone' })
  })

  it('goes on from its version after a clean end', () => {
    expect(nextWatchStep(at('7', { goneInARow: 1 }), { kind: 'ended' })).toEqual({ memory: at('7'), next: { kind: 'end' } })
  })

  it('never has an empty version, never takes one from a Status, and never relists more than once without a wait', () => {
    const outcome: fc.Arbitrary<WatchOutcome> = fc.oneof(
      fc.record({ kind: fc.constant('listed' as const), version: fc.constantFrom(undefined, '', '5', '6') }),
      fc.record({ kind: fc.constant('event' as const), version: fc.constantFrom('7', '8') }),
      fc.record({ kind: fc.constant('bookmark' as const), version: fc.constantFrom(undefined, '9') }),
      fc.record({
        kind: fc.constant('refused' as const),
        phase: fc.constantFrom('watch' as const, 'page_list' as const, 'stream_list' as const),
        status: fc.constantFrom(recordedStatus('future-version.txt'), expiredWatch(), status(403), status(429), status(422)),
      }),
      fc.constantFrom(
        { kind: 'no_streaming' as const },
        { kind: 'ended' as const },
        { kind: 'checked' as const },
        { kind: 'broken' as const },
        { kind: 'well' as const },
      ),
    )
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), (outcomes) => {
        let memory = NOTHING_KNOWN
        let expiredWithoutWait = 0
        for (const each of outcomes) {
          const step = nextWatchStep(memory, each)
          memory = step.memory
          expect(memory.version).not.toBe('')
          const isExpired = each.kind === 'refused' && each.status.code === 410
          if (isExpired && step.next.kind === 'go_on') expiredWithoutWait++
          if (
            each.kind === 'event' ||
            each.kind === 'bookmark' ||
            each.kind === 'well' ||
            each.kind === 'ended' ||
            step.next.kind === 'fail'
          )
            expiredWithoutWait = 0
          expect(expiredWithoutWait).toBeLessThanOrEqual(1)
          if (each.kind === 'refused' && memory.version !== undefined) expect(['5', '6', '7', '8', '9']).toContain(memory.version)
        }
      }),
    )
  })
})
