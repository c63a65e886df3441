import { isRecord, type KubeObject, listIn, momentOf, numberIn, textIn } from './kube-object.ts'
import { kumaSigns } from './freshness-kuma.ts'
import type { ObjectPath } from './object-path.ts'

/** What an object says of its own freshness, by the rule for its kind. Moments are epoch ms. */
export interface FreshnessSigns {
  /** Changes when it is renewed: how long ago that was is told by OUR clock. Undefined: it is never renewed. */
  readonly pulse?: string
  /** When it was renewed, where only the object says so; 0: not at all yet. Used instead of when we saw the pulse change. */
  readonly renewedAt?: number
  /** At the first sight of it, when there is no change of the pulse to have seen. Default: now. */
  readonly firstGuessAt?: number | undefined
  /** How often it is renewed; 0: it is not. */
  readonly heartbeatMs: number
  /** Which generation of it its controller has seen, when it says so and that is not the present one. */
  readonly behind?: { readonly observed: number }
  readonly online: boolean
  /** Since when it is not, if anything says; else since we saw it. */
  readonly offlineSince?: number | undefined
  /** Answers refused, by type: a type is rejected while its number grows. */
  readonly rejected?: Readonly<Record<string, RejectedCount>>
  /** What its conditions complain of, in whole sentences. */
  readonly complaints?: readonly string[]
  /** What is missing to judge it, and what it waits for, in whole sentences. */
  readonly remarks: readonly string[]
  /** Nothing of it tells how fresh it is. */
  readonly isSilent?: true
}
export interface RejectedCount {
  readonly rejected: number
  readonly acknowledged: number
}

export interface FreshnessRule {
  /** Where the moment is that says how fresh it is, and how often it should move; undefined: by what the object is. */
  readonly at: { readonly path: ObjectPath; readonly text: string; readonly cadenceMs: number } | undefined
}

/** By default every 10 s in clients, who give up after 15 s; the kubelet's node leases say 40 s. */
const LEASE_DEFAULT_MS = 15_000
/** The kubelet reports a status that did not change every 5 minutes. */
const NODE_HEARTBEAT_MS = 300_000
/** A lease is stale past its duration, and `stale` begins above three heartbeats. */
const LEASE_PARTS = 3

export function freshnessSigns(
  object: KubeObject,
  named: { readonly apiVersion: string; readonly kind: string },
  rule: FreshnessRule,
): FreshnessSigns {
  if (rule.at !== undefined) return signsAtPath(object, rule.at)
  if (named.kind === 'Lease' && named.apiVersion.startsWith('coordination.k8s.io/')) return leaseSigns(object)
  if (named.kind === 'Node' && named.apiVersion === 'v1') return nodeSigns(object)
  if (named.apiVersion.startsWith('kuma.io/')) return kumaSigns(object) ?? generationSigns(object)
  return generationSigns(object)
}

const NO_REMARKS: readonly string[] = []
const RELEASED = ['Nobody holds it: its last holder has released it.']

function leaseSigns({ spec }: KubeObject): FreshnessSigns {
  const durationMs = (numberIn(spec, 'leaseDurationSeconds') ?? 0) * 1000
  const holder = textIn(spec, 'holderIdentity') ?? ''
  const transitions = numberIn(spec, 'leaseTransitions') ?? 0
  return {
    pulse: `${textIn(spec, 'renewTime') ?? ''} ${holder} ${transitions}`,
    heartbeatMs: (durationMs > 0 ? durationMs : LEASE_DEFAULT_MS) / LEASE_PARTS,
    online: holder !== '',
    remarks: holder === '' ? RELEASED : NO_REMARKS,
  }
}

function nodeSigns({ status }: KubeObject): FreshnessSigns {
  const conditions = listIn(status, 'conditions')
  const beats = conditions.map((condition) => textIn(condition, 'lastHeartbeatTime') ?? '').sort()
  const ready = conditions.find((condition) => textIn(condition, 'type') === 'Ready')
  const isLost = textIn(ready, 'status') === 'Unknown'
  const last = momentOf(beats.at(-1))
  return {
    pulse: beats.join(' '),
    ...(last === undefined ? { renewedAt: 0 } : { firstGuessAt: last }),
    heartbeatMs: NODE_HEARTBEAT_MS,
    online: !isLost,
    ...(isLost && { offlineSince: momentOf(textIn(ready, 'lastTransitionTime')) }),
    complaints: complaintsOf(conditions),
    remarks: last === undefined ? ['Its kubelet has not reported a status yet.'] : NO_REMARKS,
  }
}

function generationSigns({ metadata, status }: KubeObject): FreshnessSigns {
  const conditions = listIn(status, 'conditions')
  const observed =
    numberIn(status, 'observedGeneration') ?? oldestOf(conditions.map((condition) => numberIn(condition, 'observedGeneration')))
  const complaints = complaintsOf(conditions)
  if (observed === undefined || metadata.generation === undefined)
    return {
      heartbeatMs: 0,
      online: true,
      isSilent: true,
      complaints,
      remarks: ['Nothing in it tells how fresh it is; name a moment in it by `freshness: { path, cadenceMs }` of its watcher.'],
    }
  if (observed === metadata.generation) return { heartbeatMs: 0, online: true, complaints, remarks: NO_REMARKS }
  const asked = `Its controller has seen generation ${observed} of it, and ${metadata.generation} is asked for.`
  return { heartbeatMs: 0, online: true, behind: { observed }, complaints, remarks: [asked] }
}

function oldestOf(generations: readonly (number | undefined)[]): number | undefined {
  const known = generations.filter((generation) => generation !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function signsAtPath(object: KubeObject, { path, text, cadenceMs }: NonNullable<FreshnessRule['at']>): FreshnessSigns {
  const found = path.read(object)
  const at = typeof found === 'string' ? momentOf(found) : typeof found === 'number' ? toMs(found) : undefined
  return {
    renewedAt: at ?? 0,
    heartbeatMs: cadenceMs,
    online: true,
    complaints: complaintsOf(listIn(object.status, 'conditions')),
    remarks:
      at !== undefined
        ? NO_REMARKS
        : [
            found === undefined
              ? `There is nothing at ${text} yet.`
              : `What is at ${text} is no moment: ${JSON.stringify(found)?.slice(0, 60)}.`,
          ],
  }
}

/** Numbers are seconds, or milliseconds where seconds would be in the far future. */
function toMs(moment: number): number | undefined {
  return moment <= 0 ? undefined : moment < 1e11 ? moment * 1000 : moment
}

/** Of these, `False` is the complaint; of the others listed below, `True`. */
const GOOD = new Set(['Ready', 'Available', 'Healthy', 'Synced', 'Established', 'Accepted', 'Programmed', 'Reconciled', 'ContainersReady'])
const BAD = new Set([
  'Degraded',
  'Stalled',
  'Failed',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
  'ReplicaFailure',
])
const COMPLAINTS = 3

function complaintsOf(conditions: readonly unknown[]): readonly string[] {
  return conditions
    .flatMap((condition) => {
      if (!isRecord(condition)) return []
      const [type = '', status = ''] = [textIn(condition, 'type'), textIn(condition, 'status')]
      const complains = (GOOD.has(type) && status !== 'True') || (BAD.has(type) && status === 'True')
      if (!complains) return []
      const why = [textIn(condition, 'reason'), textIn(condition, 'message')].filter((part) => part !== undefined && part !== '').join(': ')
      return [`${type} is ${status}${why === '' ? '' : ` (${why.slice(0, 160).replace(/\.$/, '')})`}.`]
    })
    .slice(0, COMPLAINTS)
}
