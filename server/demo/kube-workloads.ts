import type { Clock } from '../lib/clock.ts'
import type { ServedKind } from './kube-server.ts'
import type { KubeStore } from './kube-store.ts'

/** What controllers keep in a simulated cluster: deployments that are rolled out, jobs that run by the clock, data planes of a Kuma mesh. */
export interface KubeWorkloads {
  /** Their life until the signal aborts; told after each change. */
  run(signal: AbortSignal, onChange: () => void): Promise<void>
  /** What goes wrong with them from now on, or no more. */
  setFault(fault: WorkloadFault, isActive: boolean): void
}

/**
 * - `unobserved`  the controller of one deployment does not see what is asked of it
 * - `contended`   two managers write the spec of another in turn
 * - `failing`     jobs are started, and none succeeds
 */
export type WorkloadFault = 'unobserved' | 'contended' | 'failing'

export interface KubeWorkloadsDeps {
  readonly clock: Clock
  readonly random: () => number
  readonly store: KubeStore
}

export const workloadKinds: readonly ServedKind[] = [
  { group: 'apps', kind: 'Deployment', plural: 'deployments', isNamespaced: true },
  { group: 'batch', kind: 'CronJob', plural: 'cronjobs', isNamespaced: true },
  { group: 'kuma.io', version: 'v1alpha1', kind: 'DataplaneInsight', plural: 'dataplaneinsights', isNamespaced: true },
]

const NAMESPACE = 'shop'
const DEPLOYMENTS = ['cart', 'catalog', 'checkout', 'payments']
const UNOBSERVED = 'checkout'
const CONTENDED = 'payments'
const CRON_JOBS = ['prune-carts', 'settle-payments']
const ROLL_OUT_EVERY_MS = 20_000
const OBSERVED_AFTER_MS = 1_000
const TURN_EVERY_MS = 4_000
const JOB_EVERY_MS = 60_000
/** As Kuma's: half of its idle timeout, and its flush interval. */
const GENERATION_EVERY_MS = 150_000
const ACKNOWLEDGED_EVERY_MS = 10_000
const CONTROLLER = { manager: 'kube-controller-manager', subresource: 'status' }
const ROLLER = { manager: 'kubectl-set' }
const CONTENDERS = [{ manager: 'argocd-controller' }, { manager: 'kustomize-controller' }]
const MESH = { manager: 'kuma-cp' }

interface Writer {
  readonly manager: string
  readonly subresource?: string
}
interface ManagedFields extends Writer {
  readonly [field: string]: unknown
}
interface Deployment {
  generation: number
  observed: number
  replicas: number
}
interface DataPlane {
  generation: number
  answers: number
}

export function createKubeWorkloads({ clock, random, store }: KubeWorkloadsDeps): KubeWorkloads {
  const bornAt = timestamp(clock.now())
  const writers = new Map<string, readonly ManagedFields[]>()
  const faults = new Set<WorkloadFault>()
  const deployments = new Map(DEPLOYMENTS.map((name): [string, Deployment] => [name, { generation: 1, observed: 1, replicas: 3 }]))
  const dataPlanes = new Map(DEPLOYMENTS.map((name): [string, DataPlane] => [`${name}-v1`, { generation: 1, answers: 4 }]))
  let turn = 0
  for (const name of DEPLOYMENTS) {
    putDeployment(name, ROLLER)
    putDeployment(name, CONTROLLER)
  }
  for (const name of CRON_JOBS) putCronJob(name, true)
  for (const name of dataPlanes.keys()) putDataPlane(name)

  return {
    async run(signal, onChange) {
      const every = async (ms: number, act: () => void) => {
        for (;;) {
          await clock.sleep(ms, signal)
          act()
          onChange()
        }
      }
      await Promise.allSettled([
        every(ROLL_OUT_EVERY_MS, () => rollOut(DEPLOYMENTS[Math.floor(random() * DEPLOYMENTS.length)]!, ROLLER)),
        every(OBSERVED_AFTER_MS, observe),
        every(TURN_EVERY_MS, takeTurn),
        every(JOB_EVERY_MS, () => CRON_JOBS.forEach((name) => putCronJob(name, !faults.has('failing')))),
        every(ACKNOWLEDGED_EVERY_MS, () => answer([...dataPlanes.keys()][Math.floor(random() * dataPlanes.size)]!)),
        every(GENERATION_EVERY_MS, () => dataPlanes.keys().forEach(moveGeneration)),
      ])
    },
    setFault(fault, isActive) {
      if (isActive) faults.add(fault)
      else faults.delete(fault)
      if (fault === 'unobserved' && isActive) rollOut(UNOBSERVED, ROLLER)
    },
  }

  function rollOut(name: string, by: Writer) {
    const deployment = deployments.get(name)!
    deployment.generation++
    deployment.replicas = deployment.replicas === 3 ? 5 : 3
    putDeployment(name, by)
  }

  function observe() {
    for (const [name, deployment] of deployments) {
      if (deployment.observed === deployment.generation || (name === UNOBSERVED && faults.has('unobserved'))) continue
      deployment.observed = deployment.generation
      putDeployment(name, CONTROLLER)
    }
  }

  function takeTurn() {
    if (faults.has('contended')) rollOut(CONTENDED, CONTENDERS[turn++ % CONTENDERS.length]!)
  }

  function answer(name: string) {
    dataPlanes.get(name)!.answers++
    putDataPlane(name)
  }

  function moveGeneration(name: string) {
    dataPlanes.get(name)!.generation++
    putDataPlane(name)
  }

  function putDeployment(name: string, by: Writer) {
    const { generation, observed, replicas } = deployments.get(name)!
    const isShaky = name === CONTENDED && faults.has('contended')
    const available = isShaky
      ? { status: 'False', reason: 'MinimumReplicasUnavailable', message: 'Deployment does not have minimum availability.' }
      : { status: 'True', reason: 'MinimumReplicasAvailable' }
    store.put('deployments', {
      metadata: { ...metadataOf('deployments', name, by), generation },
      spec: { replicas },
      status: { observedGeneration: observed, replicas, conditions: [{ type: 'Available', ...available, lastTransitionTime: bornAt }] },
    })
  }

  function putCronJob(name: string, hasSucceeded: boolean) {
    const now = timestamp(clock.now())
    const before = store.get('cronjobs', `${NAMESPACE}/${name}`)?.['status'] as { readonly lastSuccessfulTime: string } | undefined
    store.put('cronjobs', {
      metadata: metadataOf('cronjobs', name, CONTROLLER),
      spec: { schedule: '* * * * *' },
      status: { lastScheduleTime: now, lastSuccessfulTime: hasSucceeded ? now : before?.lastSuccessfulTime },
    })
  }

  function putDataPlane(name: string) {
    const { generation, answers } = dataPlanes.get(name)!
    const counts = { responsesSent: String(answers), responsesAcknowledged: String(answers) }
    const status = { lastUpdateTime: timestamp(clock.now()), total: counts, cds: counts, eds: counts, lds: counts, rds: counts }
    store.put('dataplaneinsights', {
      metadata: metadataOf('dataplaneinsights', name, MESH),
      mesh: 'default',
      status: { subscriptions: [{ id: `${name}-1`, controlPlaneInstanceId: 'kuma-cp-1', connectTime: bornAt, generation, status }] },
    })
  }

  /** With who wrote what last: an entry for each manager and part, as an API server keeps it. */
  function metadataOf(collection: string, name: string, by: Writer) {
    const key = `${collection}/${name}`
    const others = (writers.get(key) ?? []).filter(({ manager, subresource }) => manager !== by.manager || subresource !== by.subresource)
    const entry = { ...by, operation: 'Update', time: timestamp(clock.now()), fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }
    const managedFields = [...others, entry]
    writers.set(key, managedFields)
    return { name, namespace: NAMESPACE, uid: key, creationTimestamp: bornAt, managedFields }
  }
}

const timestamp = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
