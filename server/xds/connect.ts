import type { Clock } from '../lib/clock.ts'
import { untilAborted } from '../lib/signals.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { Lifecycle, Registered } from './lifecycle.ts'
import type { MeshDirectory } from './mesh-directory.ts'
import type { NodeIdentity } from './node-identity.ts'

/** A stream on its way from its first message to its first configuration. */
export interface Connecting {
  readonly identity: NodeIdentity
  readonly sessionId: string
  readonly signal: AbortSignal
}

/** One step. What it returns is undone, in reverse order, when the stream ends. Throwing refuses the stream. */
export type ConnectStep = (connecting: Connecting, registered: Registered | undefined) => Promise<StepResult> | StepResult
export interface StepResult {
  readonly registered?: Registered
  readonly undo?: () => void
}

export interface ConnectDeps {
  readonly clock: Pick<Clock, 'sleep'>
  readonly lifecycle: Lifecycle
  readonly directory: Pick<MeshDirectory, 'put' | 'ready'>
  /** Whether the store tells this process of each write; a cached Kubernetes client does not. */
  readonly storeSignalsWrites: boolean
  readonly cacheTtlMs: Tunable<number>
  readonly startSync: (connecting: Connecting, registered: Registered | undefined) => StepResult
  readonly startStatus: (connecting: Connecting) => StepResult
}

/**
 * What happens when a data plane connects, in this order and in no other: registration comes before generation, and what was
 * registered is visible before anything is generated, so that the first configuration never waits for a cache to expire.
 */
export function connectSteps({
  clock,
  lifecycle,
  directory,
  storeSignalsWrites,
  cacheTtlMs,
  startSync,
  startStatus,
}: ConnectDeps): readonly ConnectStep[] {
  return [authenticate, register, makeVisible, startSync, startStatus]

  /** On loopback every peer may be whom it says it is; tokens come with the login. */
  function authenticate(): StepResult {
    return {}
  }

  async function register({ identity, sessionId, signal }: Connecting): Promise<StepResult> {
    const registered = await lifecycle.register({ subject: identity.subject, dataplane: identity.dataplane, sessionId, signal })
    return { registered, undo: () => lifecycle.left(identity.subject, sessionId) }
  }

  async function makeVisible({ signal }: Connecting, registered: Registered | undefined): Promise<StepResult> {
    if (registered === undefined) return {}
    // After a restart: endpoints that were not read yet would look as if they were gone.
    await untilAborted(directory.ready(), signal)
    directory.put(registered.resource)
    if (!storeSignalsWrites && registered.isNew) await clock.sleep(cacheTtlMs.get(), signal)
    return {}
  }
}

/** Runs the steps; resolves with what ends the stream again. When a step throws, those before it are undone. */
export async function connect(steps: readonly ConnectStep[], connecting: Connecting): Promise<() => void> {
  const undo: (() => void)[] = []
  const undoAll = () => {
    for (const each of undo.splice(0).toReversed()) each()
  }
  let registered: Registered | undefined
  try {
    for (const step of steps) {
      const result = await step(connecting, registered)
      if (result.undo !== undefined) undo.push(result.undo)
      registered ??= result.registered
      connecting.signal.throwIfAborted()
    }
  } catch (error) {
    undoAll()
    throw error
  }
  return undoAll
}
