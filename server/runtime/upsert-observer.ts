import type { Clock } from '../lib/clock.ts'
import type { UpsertObserver } from '../store/upsert.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'

export interface UpsertObserverDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly ledger: Pick<ConflictLedger, 'written' | 'lost' | 'gaveUp' | 'settled'>
  readonly instance: string
  readonly onAttempts: (labels: { readonly writer: string; readonly type: string; readonly outcome: string }, attempts: number) => void
}

/** Tells the ledger of every attempt of an upsert, so that a conflict is counted when its story ends. */
export function createUpsertObserver({ clock, ledger, instance, onAttempts }: UpsertObserverDeps): UpsertObserver {
  return {
    lost: ({ key, writer, lostTo }) => ledger.lost({ key, writer, instance, lostTo, at: clock.now() }),
    done({ key, writer, result: { outcome, attempts, resource } }) {
      const at = clock.now()
      if (outcome === 'unchanged') ledger.settled({ key, writer, at })
      else ledger.written({ key, writer, instance, version: resource.version, at: resource.modifiedAt })
      onAttempts({ writer, type: key.type, outcome }, attempts)
    },
    gaveUp({ key, writer, attempts, error }) {
      ledger.gaveUp({ key, writer, at: clock.now() })
      onAttempts({ writer, type: key.type, outcome: error.code === 'conflict' ? 'conflict' : 'error' }, attempts)
    },
  }
}
