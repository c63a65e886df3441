import { type BackoffPolicy, backoffDelayMs } from '../lib/backoff.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { Tunable } from '../lib/tunable.ts'
import { createTurns } from '../lib/turns.ts'
import {
  gateDueAt,
  type GateEvent,
  type GatePolicy,
  type GateState,
  initialGateState,
  nextGateStep,
  proberOf,
} from './endpoint-gate-state.ts'

/** The herd guard of one endpoint, shared by all links to it. */
export interface EndpointGate {
  readonly endpoint: string
  isOpen(): boolean
  /** `go` is called, at once or later, when the link may connect; not after it has left. */
  join(link: string, go: () => void): void
  /** Its attempt found the endpoint down: it waits here, as by `join`. */
  reportDown(link: string, retryAfterMs: number, go: () => void): void
  /** The endpoint answered an attempt of this link. */
  answered(link: string): void
  leave(link: string): void
  /** While it is down: who probes (or will next), and when the next probe is due (monotonic; undefined while one is under way). */
  probe(): { readonly prober: string | undefined; readonly at: number | undefined } | undefined
  /** A turn for an expensive read. */
  listTurn(signal: AbortSignal): Promise<() => void>
  /** Ends its timer. */
  close(): void
}

export interface EndpointGateDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'at'>
  readonly policy: Tunable<GatePolicy>
  /** Something that links which wait show has changed. */
  readonly onChange: () => void
}

/** Expensive reads of one endpoint at a time. */
const LISTS_AT_ONCE = 8

export function createEndpointGate(endpoint: string, { clock, policy, onChange }: EndpointGateDeps): EndpointGate {
  const waiting = new Map<string, () => void>()
  const lists = createTurns(LISTS_AT_ONCE)
  const closing = new AbortController()
  let state: GateState = initialGateState
  let timer: Timer | undefined
  policy.watch(() => tell({ type: 'policy' }), closing.signal)

  function tell(event: GateEvent): void {
    const before = state
    const step = nextGateStep(state, event, { now: clock.monotonic(), policy: policy.get() })
    state = step.state
    timer?.cancel()
    const dueAt = closing.signal.aborted ? undefined : gateDueAt(state)
    timer = dueAt === undefined ? undefined : clock.at(dueAt, () => tell({ type: 'due' }))
    if (state !== before) onChange()
    for (const link of step.go) {
      const go = waiting.get(link)
      waiting.delete(link)
      go?.()
    }
  }

  return {
    endpoint,
    isOpen: () => state.kind === 'open',
    join(link, go) {
      waiting.set(link, go)
      tell({ type: 'queue', link })
    },
    reportDown(link, retryAfterMs, go) {
      waiting.set(link, go)
      tell({ type: 'down', link, retryAfterMs })
    },
    answered(link) {
      if (state.kind === 'down') tell({ type: 'answered', link })
    },
    leave(link) {
      waiting.delete(link)
      if (state.kind !== 'open') tell({ type: 'leave', link })
    },
    probe() {
      if (state.kind !== 'down') return undefined
      return { prober: proberOf(state), at: state.prober === undefined ? state.probeAt : undefined }
    },
    listTurn: (signal) => lists.take(signal),
    close() {
      closing.abort()
      timer?.cancel()
      timer = undefined
    },
  }
}

export interface ProbeValues {
  readonly probeBaseMs: number
  readonly probeFactor: number
  readonly probeMaxMs: number
  readonly rampPerSecond: number
}

/** Not spread: one probes for all. */
export function gatePolicy({ probeBaseMs, probeFactor, probeMaxMs, rampPerSecond }: ProbeValues): GatePolicy {
  const waits: BackoffPolicy = { baseMs: probeBaseMs, factor: probeFactor, maxMs: probeMaxMs, jitterPercent: 0 }
  return { delayMs: (probe) => backoffDelayMs(waits, probe, () => 0.5), rampPerSecond }
}
