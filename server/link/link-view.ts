import type { Clock } from '../lib/clock.ts'
import type { LinkHealth, LinkLastError, LinkPolicyRow, LinkRow } from '../model/link-row.ts'
import type { LinkSpec } from './connector.ts'
import type { EndpointGate } from './endpoint-gate.ts'
import { lastHour } from './link-history.ts'
import type { LinkState } from './link-state.ts'
import type { LinkStatistics } from './link-statistics.ts'

/** What a link knows of itself, times as epoch ms but for those inside `state`. */
export interface LinkFacts {
  readonly spec: LinkSpec
  readonly state: LinkState
  readonly stateSince: number
  readonly health: LinkHealth
  readonly healthSince: number
  readonly paused: { readonly by: string; readonly reason: string | null } | undefined
  readonly lastError: LinkLastError | null
  readonly withoutSuccessSince: number | null
  readonly history: LinkRow['history']
  readonly policy: LinkPolicyRow
}

export interface LinkViewDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly gate: Pick<EndpointGate, 'endpoint' | 'probe'>
  readonly statistics: LinkStatistics
}

/** A link as it is shown. */
export function linkRow(facts: LinkFacts, { clock, gate, statistics }: LinkViewDeps): LinkRow {
  const { spec, state, paused } = facts
  const toEpoch = (monotonic: number) => Math.round(clock.now() + monotonic - clock.monotonic())
  const probe = gate.probe()
  const isAtGate = state.kind === 'waiting' && state.until === undefined
  const isActive = state.kind === 'waiting' || state.kind === 'connecting' || state.kind === 'syncing'
  const probing = isActive && probe?.prober === spec.id
  const dueAt = state.kind !== 'waiting' ? undefined : (state.until ?? (probing ? probe?.at : undefined))
  return {
    id: spec.id,
    kind: spec.kind,
    endpoint: gate.endpoint,
    subject: spec.subject,
    health: facts.health,
    healthSince: facts.healthSince,
    state: { kind: state.kind, ...triesOf(state), ...(dueAt !== undefined && { until: toEpoch(dueAt) }) },
    stateSince: facts.stateSince,
    probing,
    waitingFor:
      isAtGate && !probing
        ? { endpoint: gate.endpoint, prober: probe?.prober ?? null, probeAt: probe?.at === undefined ? null : toEpoch(probe.at) }
        : null,
    pausedBy: paused?.by ?? null,
    pauseReason: paused?.reason ?? null,
    lastError: facts.lastError,
    withoutSuccessSince: facts.withoutSuccessSince,
    policy: facts.policy,
    history: lastHour(facts.history, clock.now()),
    ...statistics.row(),
  }
}

function triesOf(state: LinkState): Pick<LinkRow['state'], 'attempt' | 'cause'> {
  switch (state.kind) {
    case 'waiting':
      return { ...(state.attempt > 0 && { attempt: state.attempt }), ...(state.cause !== undefined && { cause: state.cause }) }
    case 'connecting':
    case 'syncing':
      return { ...(state.failures > 0 && { attempt: state.failures }), ...(state.cause !== undefined && { cause: state.cause }) }
    case 'idle':
    case 'live':
    case 'paused':
    case 'stopped':
      return {}
  }
}
