import { combineTunables, type Tunable } from '../lib/tunable.ts'
import { gatePolicy } from '../link/endpoint-gate.ts'
import type { GatePolicy } from '../link/endpoint-gate-state.ts'
import type { LinkTuning } from '../link/link.ts'
import { exponentialPolicy } from '../link/link-policy.ts'
import type { LinkPolicyValue } from '../model/link-row.ts'
import type { LinkTunableKey, TunableValue } from '../model/tunables.ts'
import type { Settings } from '../settings/settings.ts'

/** How the settings make one link wait. */
export function createLinkTuning(settings: Pick<Settings, 'linkTunable' | 'isOverridden'>, link: string): LinkTuning {
  const baseBackoffMs = settings.linkTunable(link, 'link.baseBackoffMs')
  const factor = settings.linkTunable(link, 'link.factor')
  const maxBackoffMs = settings.linkTunable(link, 'link.maxBackoffMs')
  const jitter = settings.linkTunable(link, 'link.jitter')
  const resetAfterMs = settings.linkTunable(link, 'link.resetAfterMs')
  const unhealthyAfterMs = settings.linkTunable(link, 'link.unhealthyAfterMs')

  function rowOf<K extends LinkTunableKey>(key: K, tunable: Tunable<TunableValue<K>>): LinkPolicyValue<TunableValue<K>> {
    return { value: tunable.get(), overridden: settings.isOverridden(link, key) }
  }

  return {
    policy: combineTunables([baseBackoffMs, factor, maxBackoffMs, jitter, resetAfterMs, unhealthyAfterMs], () =>
      exponentialPolicy({
        baseBackoffMs: baseBackoffMs.get(),
        factor: factor.get(),
        maxBackoffMs: maxBackoffMs.get(),
        jitter: jitter.get(),
        resetAfterMs: resetAfterMs.get(),
        unhealthyAfterMs: unhealthyAfterMs.get(),
      }),
    ),
    row: () => ({
      baseBackoffMs: rowOf('link.baseBackoffMs', baseBackoffMs),
      factor: rowOf('link.factor', factor),
      maxBackoffMs: rowOf('link.maxBackoffMs', maxBackoffMs),
      jitter: rowOf('link.jitter', jitter),
      resetAfterMs: rowOf('link.resetAfterMs', resetAfterMs),
      unhealthyAfterMs: rowOf('link.unhealthyAfterMs', unhealthyAfterMs),
    }),
  }
}

/** How the settings make endpoints that are down be probed. */
export function createGatePolicy(settings: Pick<Settings, 'tunable'>): Tunable<GatePolicy> {
  const probeBaseMs = settings.tunable('link.probeBaseMs')
  const probeFactor = settings.tunable('link.probeFactor')
  const probeMaxMs = settings.tunable('link.probeMaxMs')
  const rampPerSecond = settings.tunable('link.rampPerSecond')
  return combineTunables([probeBaseMs, probeFactor, probeMaxMs, rampPerSecond], () =>
    gatePolicy({
      probeBaseMs: probeBaseMs.get(),
      probeFactor: probeFactor.get(),
      probeMaxMs: probeMaxMs.get(),
      rampPerSecond: rampPerSecond.get(),
    }),
  )
}
