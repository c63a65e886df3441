import { assertNever } from '../lib/assert-never.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { LinkDetail, LinkHealth, LinkLastError, LinkPolicyRow, LinkRow, LinkStateKind } from '../model/link-row.ts'
import type { LinkSpec } from './connector.ts'
import type { EndpointGate } from './endpoint-gate.ts'
import { type Attempt, createLinkAttempt, type LinkObserver } from './link-attempt.ts'
import { LinkFailure, toLinkFailure } from './link-failure.ts'
import { type LinkHealthFacts, laneOf, linkHealthAt } from './link-health.ts'
import { addStretch } from './link-history.ts'
import { createLinkLog, type LogSink } from './link-log.ts'
import { type LinkPolicy, waitsOf } from './link-policy.ts'
import { type LinkEffect, type LinkEvent, linkDueAt, type LinkState, nextLinkStep } from './link-state.ts'
import { createLinkStatistics } from './link-statistics.ts'
import { linkRow } from './link-view.ts'

/** One long-lived outbound connection: runs a connector's attempts, one at a time, until it is stopped. */
export interface Link {
  readonly id: string
  start(): void
  /** At once, from any state: past a wait, in place of an attempt under way, out of a pause. */
  retryNow(by: string): void
  pause(by: string, reason: string | undefined): void
  resume(by: string): void
  /** Ends at once; resolves when the attempt under way has settled, or has had its grace. */
  stop(): Promise<void>
  state(): LinkStateKind
  health(): LinkHealth
  row(): LinkRow
  detail(): LinkDetail
  /** Moves whenever the row did, times and rates apart. */
  revision(): number
  /** Its rates still change though nothing new arrives. */
  isMoving(): boolean
}

/** The policy in force for one link, and what of it was set for this link alone. */
export interface LinkTuning {
  readonly policy: Tunable<LinkPolicy>
  row(): LinkPolicyRow
}

export interface LinkDeps {
  readonly clock: Clock
  readonly random: Random
  readonly gate: EndpointGate
  readonly tuning: LinkTuning
  readonly observer: LinkObserver
  readonly log: LogSink
  /** Its state, health or policy has changed. */
  readonly onChange: () => void
}

/** How long an attempt that was ended may take to settle before the next begins all the same. */
const SETTLE_GRACE_MS = 2_000

export function createLink(spec: LinkSpec, deps: LinkDeps): Link {
  const { clock, random, gate, tuning, observer, onChange } = deps
  const { id } = spec
  const statistics = createLinkStatistics(clock)
  const log = createLinkLog(id, deps.log, clock)
  const ending = new AbortController()
  let state: LinkState = { kind: 'idle' }
  let stateSince = clock.now()
  let current: Attempt | undefined
  let settling: Promise<void> = Promise.resolve()
  let timer: Timer | undefined
  let revision = 0
  let reconnectCause: string | undefined
  let hasBeenLive = false
  let lastError: LinkLastError | null = null
  /** Of the last failure since it was last live. */
  let failedWith: LinkHealthFacts['failedWith']
  let withoutSuccess: { readonly monotonic: number; readonly at: number } | undefined
  let health = linkHealthAt(healthFacts(), 0, Infinity)
  let healthSince = stateSince
  let paused: { readonly by: string; readonly reason: string | null } | undefined
  let history: LinkRow['history'] = []
  tuning.policy.watch(() => tell({ type: 'policy' }), ending.signal)

  function healthFacts(): LinkHealthFacts {
    return { state: state.kind, withoutSuccessSince: withoutSuccess?.monotonic, failedWith }
  }

  function tell(event: LinkEvent): void {
    const before = state
    const context = { now: clock.monotonic(), roll: random(), policy: tuning.policy.get(), gateOpen: gate.isOpen() }
    const step = nextLinkStep(state, event, context)
    if (step.closedEarly === true) remember(closedEarly(before))
    state = step.state
    if (state !== before) keepMoments(before)
    for (const effect of step.effects) perform(effect, event)
    takeStock(state !== before || event.type === 'policy')
  }

  function perform(effect: LinkEffect, event: LinkEvent): void {
    switch (effect) {
      case 'connect':
        if (reconnectCause !== undefined) {
          statistics.reconnect(reconnectCause)
          observer.reconnect(id, reconnectCause)
        }
        current = { controller: new AbortController(), number: 'failures' in state ? state.failures + 1 : 1, events: 0, answered: false }
        settling = run(current, settling)
        return
      case 'disconnect': {
        const ended = current
        current = undefined
        ended?.controller.abort(new DOMException('the link has ended this attempt', 'AbortError'))
        return
      }
      case 'queue':
        return gate.join(id, () => tell({ type: 'go' }))
      case 'report_down':
        return gate.reportDown(id, event.type === 'failed' ? (event.retryAfterMs ?? 0) : 0, () => tell({ type: 'go' }))
      case 'leave':
        return gate.leave(id)
      default:
        return assertNever(effect)
    }
  }

  function keepMoments(before: LinkState): void {
    if (state.kind !== before.kind) stateSince = clock.now()
    if (state.kind === 'live') {
      if (failedWith !== undefined) log.write('info', `live again after ${withoutSuccessFor()}; it had failed with ${failedWith}`)
      else if (!hasBeenLive) log.write('info', 'live')
      hasBeenLive = true
      failedWith = undefined
    }
    const isTrying = state.kind === 'connecting' || state.kind === 'syncing' || state.kind === 'waiting'
    withoutSuccess = isTrying ? (withoutSuccess ?? { monotonic: clock.monotonic(), at: clock.now() }) : undefined
    if (state.kind !== 'paused') paused = undefined
    if (state.kind === 'paused') failedWith = undefined
  }

  /** Health, the swim-lane, and the timer for what time alone will change. */
  function takeStock(hasChanged: boolean): void {
    const { unhealthyAfterMs } = tuning.policy.get()
    const healthNow = linkHealthAt(healthFacts(), clock.monotonic(), unhealthyAfterMs)
    const isNewHealth = healthNow !== health
    if (isNewHealth) {
      health = healthNow
      healthSince = clock.now()
      if (health === 'unhealthy') log.write('warn', `unhealthy: ${withoutSuccessFor()} without success`)
    }
    const lane = laneOf(healthFacts(), health)
    if (lane !== undefined) history = addStretch(history, lane, clock.now())
    timer?.cancel()
    const unhealthyAt = health === 'healthy' && withoutSuccess !== undefined ? withoutSuccess.monotonic + unhealthyAfterMs : Infinity
    const dueAt = Math.min(linkDueAt(state) ?? Infinity, unhealthyAt)
    timer = dueAt === Infinity || state.kind === 'stopped' ? undefined : clock.at(dueAt, () => tell({ type: 'due' }))
    if (!hasChanged && !isNewHealth) return
    revision++
    onChange()
  }

  async function run(attempt: Attempt, previous: Promise<void>): Promise<void> {
    await settledWithin(clock, previous, SETTLE_GRACE_MS)
    if (current !== attempt) return
    let thrown: { readonly error: unknown } | undefined
    try {
      await spec.connector.connect(
        createLinkAttempt(attempt, {
          link: id,
          statistics,
          observer,
          log,
          gate,
          isCurrent: (other) => current === other,
          onAnswered,
          onProgress: (type) => tell({ type }),
          onCounted: () => revision++,
        }),
      )
    } catch (error) {
      thrown = { error }
    }
    if (current !== attempt) return
    if (thrown !== undefined) return onFailed(attempt, toLinkFailure(thrown.error))
    onAnswered(attempt)
    reconnectCause = 'ended'
    tell({ type: 'ended', events: attempt.events })
  }

  function onAnswered(attempt: Attempt): void {
    if (attempt.answered) return
    attempt.answered = true
    gate.answered(id)
  }

  function onFailed(attempt: Attempt, failure: LinkFailure): void {
    if (!failure.endpointDown) onAnswered(attempt)
    remember(failure)
    const { class: failureClass, retryAfterMs, endpointDown } = failure
    tell({ type: 'failed', class: failureClass, retryAfterMs, endpointDown, answered: attempt.answered })
  }

  function closedEarly(before: LinkState): LinkFailure {
    const lived = before.kind === 'live' ? `${clock.now() - stateSince} ms` : 'no time'
    return new LinkFailure('closed_early', `the stream ended cleanly after it was live for ${lived}: too soon to be a success`)
  }

  function remember(failure: LinkFailure): void {
    const { class: failureClass, message, hint } = failure
    const at = clock.now()
    if (failedWith !== failureClass) log.write('warn', `${failureClass}: ${message}`)
    const since = lastError !== null && failedWith === failureClass ? lastError.since : at
    reconnectCause = failureClass
    failedWith = failureClass
    lastError = { class: failureClass, message: message.slice(0, 1_000), hint: hint.slice(0, 4_000), at, since }
  }

  function withoutSuccessFor(): string {
    const ms = withoutSuccess === undefined ? 0 : clock.monotonic() - withoutSuccess.monotonic
    return ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`
  }

  function row(): LinkRow {
    return linkRow(
      {
        spec,
        state,
        stateSince,
        health,
        healthSince,
        paused,
        lastError,
        withoutSuccessSince: withoutSuccess?.at ?? null,
        history,
        policy: tuning.row(),
      },
      { clock, gate, statistics },
    )
  }

  return {
    id,
    start: () => tell({ type: 'start' }),
    retryNow(by) {
      if (state.kind === 'idle' || state.kind === 'stopped') return
      log.write('info', `retried now by ${by}`)
      reconnectCause = 'operator'
      tell({ type: 'retryNow' })
    },
    pause(by, reason) {
      if (state.kind === 'paused' || state.kind === 'stopped') return
      log.write('info', `paused by ${by}${reason === undefined ? '' : `: ${reason}`}`)
      paused = { by, reason: reason ?? null }
      tell({ type: 'pause' })
    },
    resume(by) {
      if (state.kind !== 'paused') return
      log.write('info', `resumed by ${by}`)
      reconnectCause = 'operator'
      tell({ type: 'resume' })
    },
    async stop() {
      tell({ type: 'stop' })
      ending.abort()
      await settledWithin(clock, settling, SETTLE_GRACE_MS)
    },
    state: () => state.kind,
    health: () => health,
    row,
    detail() {
      return {
        ...row(),
        log: log.entries(),
        waitsMs: waitsOf(tuning.policy.get()),
        waitMs: state.kind === 'waiting' && state.until !== undefined ? Math.round(state.until - state.since) : null,
        badOnes: statistics.badOnes(),
        requestsByVerb: statistics.requestsByVerb(),
        facts: spec.facts?.() ?? [],
      }
    },
    revision: () => revision,
    isMoving: statistics.isMoving,
  }
}

/** When the work has settled, or the time is up. */
async function settledWithin(clock: Pick<Clock, 'monotonic' | 'at'>, work: Promise<void>, ms: number): Promise<void> {
  const timeUp = Promise.withResolvers<void>()
  const timer = clock.at(clock.monotonic() + ms, () => timeUp.resolve())
  await Promise.race([work, timeUp.promise])
  timer.cancel()
}
