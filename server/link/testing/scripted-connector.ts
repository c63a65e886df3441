import { createTunable, type MutableTunable } from '../../lib/tunable.ts'
import type { LinkPolicyRow } from '../../model/link-row.ts'
import type { Connector, LinkAttempt, LinkSpec } from '../connector.ts'
import { gatePolicy, type ProbeValues } from '../endpoint-gate.ts'
import type { GatePolicy } from '../endpoint-gate-state.ts'
import type { LinkTuning } from '../link.ts'
import { exponentialPolicy, type LinkPolicyValues } from '../link-policy.ts'

/** For tests: a connector whose attempts a test ends by hand. */
export interface ScriptedConnector extends Connector {
  /** Attempts so far, the aborted ones among them. */
  attempts(): number
  /** The attempt under way; throws when there is none. */
  now(): LinkAttempt
  isOpen(): boolean
  end(): void
  fail(error: unknown): void
}

export function createScriptedConnector(): ScriptedConnector {
  let attempts = 0
  let open: { readonly attempt: LinkAttempt; readonly done: PromiseWithResolvers<void> } | undefined
  const present = () => {
    if (open === undefined) throw new Error('no attempt is under way')
    return open
  }
  return {
    async connect(attempt) {
      attempts++
      const mine = { attempt, done: Promise.withResolvers<void>() }
      open = mine
      attempt.signal.addEventListener('abort', () => mine.done.reject(attempt.signal.reason), { once: true })
      try {
        await mine.done.promise
      } finally {
        if (open === mine) open = undefined
      }
    },
    attempts: () => attempts,
    now: () => present().attempt,
    isOpen: () => open !== undefined,
    end: () => present().done.resolve(),
    fail: (error) => present().done.reject(error),
  }
}

/** As the settings have it by default, but without jitter. */
export const plainPolicy: LinkPolicyValues = {
  baseBackoffMs: 800,
  factor: 2,
  maxBackoffMs: 30_000,
  jitter: false,
  resetAfterMs: 120_000,
  unhealthyAfterMs: 45_000,
}
export const plainProbes: ProbeValues = { probeBaseMs: 500, probeFactor: 1.6, probeMaxMs: 5_000, rampPerSecond: 100 }

export function createPlainTuning(values: Partial<LinkPolicyValues> = {}): LinkTuning & { set(values: Partial<LinkPolicyValues>): void } {
  let present = { ...plainPolicy, ...values }
  const policy = createTunable(exponentialPolicy(present))
  return {
    policy,
    row: () =>
      Object.fromEntries(Object.entries(present).map(([name, value]) => [name, { value, overridden: false }])) as unknown as LinkPolicyRow,
    set(changes) {
      present = { ...present, ...changes }
      policy.set(exponentialPolicy(present))
    },
  }
}

export function createPlainGatePolicy(values: Partial<ProbeValues> = {}): MutableTunable<GatePolicy> {
  return createTunable(gatePolicy({ ...plainProbes, ...values }))
}

export function linkSpec(id: string, connector: Connector, changes: Partial<LinkSpec> = {}): LinkSpec {
  return { id, kind: 'watch', endpoint: 'https://api.test:6443/', subject: `v1 ${id}`, connector, ...changes }
}

export const silentObserver = { request() {}, reconnect() {}, relist() {}, event() {}, eventLag() {} }
export const silentLog = { info() {}, warn() {} }
