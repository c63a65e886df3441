import { type BackoffPolicy, backoffDelayMs } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import { type DataplaneInsight, insightKeyOf } from '../model/insight.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ConflictRetry, Upsert } from '../store/upsert.ts'
import {
  type CertificateAuthority,
  createCertificateAuthority,
  createRootOfTrust,
  type IssuedCertificate,
  type RootOfTrust,
} from './certificate-authority.ts'

/** The writer's name in the store, in conflicts and in metrics. */
const IDENTITY_WRITER = 'identity'

/**
 * Gives each connected data plane of a mesh with mTLS a certificate of the mesh's built-in CA, renews it in time, and writes
 * its times into the data plane's insight: the second writer of insights beside the sink. There is no tick behind a
 * rotation, so its writes retry on conflict.
 */
export interface Identity {
  /** From its connect on: issues, writes, renews. `onRenewed` is called after each renewal, so that its secrets are sent. Cheap and idempotent per id. */
  attach(dataPlane: AttachedDataPlane): void
  /** Its stream has ended: no more renewals. `id` is the stream's, so that an old stream's end does not touch a newer one. */
  detach(subject: ResourceKey, id: string): void
  /** The certificate and the roots its peers are checked by; undefined until the first one is issued. */
  secretsOf(subject: ResourceKey): Secrets | undefined
  /** For the debug snapshot: 0 when nobody is connected. */
  size(): number
  /** Renews until aborted, then resolves when the writes under way have ended. */
  run(signal: AbortSignal): Promise<void>
}

export interface AttachedDataPlane {
  readonly subject: ResourceKey
  /** The stream's id. */
  readonly id: string
  /** What it may call itself. */
  readonly services: readonly string[]
  readonly onRenewed: () => void
}

export interface Secrets {
  readonly certificate: IssuedCertificate
  readonly rootPem: string
}

export interface IdentityDeps {
  readonly clock: Clock
  readonly random: () => number
  readonly store: ResourceStore
  readonly upsert: Upsert
  readonly retry: () => ConflictRetry
  /** How long a certificate is valid; it is renewed after 70 to 90 % of it. A change moves every renewal at once. */
  readonly certificateTtlMs: Tunable<number>
  readonly onError: (what: string, error: unknown) => void
}

interface Entry {
  readonly dataPlane: AttachedDataPlane
  certificate: IssuedCertificate | undefined
  /** Which part of its validity it is used for: spread, so that data planes that connected together do not renew together. */
  readonly renewAtShare: number
  /** Monotonic. */
  issuedAt: number
  /** Failures in a row; while there are any, the next attempt is at `retryAt`. */
  failures: number
  retryAt: number
  isRenewing: boolean
}

const RENEW_AT_SHARE = 0.8
const RENEW_SPREAD = 0.1
const CONCURRENT_RENEWALS = 8
const FAILURE_BACKOFF: BackoffPolicy = { baseMs: 500, maxMs: 30_000, factor: 2, jitterPercent: 30 }
const ROOT_NAME = 'builtin-ca'

export function createIdentity(deps: IdentityDeps): Identity {
  const { clock, random, store, upsert, retry, certificateTtlMs, onError } = deps
  const entries = new Map<KeyString, Entry>()
  const authorities = new Map<string, Promise<{ readonly authority: CertificateAuthority; readonly rootPem: string }>>()
  const roots = new Map<string, string>()
  let wake: (() => void) | undefined

  return { attach, detach, secretsOf, size: () => entries.size, run }

  function attach(dataPlane: AttachedDataPlane) {
    const key = toKeyString(dataPlane.subject)
    if (entries.get(key)?.dataPlane.id === dataPlane.id) return
    // Its certificate is kept over a reconnect: a new stream gets secrets with its first answer.
    const before = entries.get(key)
    entries.set(key, {
      dataPlane,
      certificate: before?.certificate,
      renewAtShare: RENEW_AT_SHARE + RENEW_SPREAD * (2 * random() - 1),
      issuedAt: before?.issuedAt ?? 0,
      failures: 0,
      retryAt: 0,
      isRenewing: false,
    })
    wake?.()
  }

  function detach(subject: ResourceKey, id: string) {
    const key = toKeyString(subject)
    if (entries.get(key)?.dataPlane.id === id) entries.delete(key)
  }

  function secretsOf(subject: ResourceKey): Secrets | undefined {
    const certificate = entries.get(toKeyString(subject))?.certificate
    const rootPem = roots.get(subject.mesh)
    return certificate === undefined || rootPem === undefined ? undefined : { certificate, rootPem }
  }

  async function run(signal: AbortSignal): Promise<void> {
    certificateTtlMs.watch(() => wake?.(), signal)
    const renewing = new Set<Promise<void>>()
    while (!signal.aborted) {
      const now = clock.monotonic()
      let nextAt = Infinity
      for (const entry of entries.values()) {
        if (entry.isRenewing) continue
        const dueAt = dueAtOf(entry)
        if (dueAt > now || renewing.size >= CONCURRENT_RENEWALS) {
          nextAt = Math.min(nextAt, dueAt)
          continue
        }
        entry.isRenewing = true
        const renewal = renew(entry, signal).finally(() => {
          entry.isRenewing = false
          renewing.delete(renewal)
          wake?.()
        })
        renewing.add(renewal)
      }
      await untilWokenOr(renewing.size >= CONCURRENT_RENEWALS ? Infinity : nextAt, signal)
    }
    await Promise.allSettled(renewing)
  }

  function dueAtOf(entry: Entry): number {
    if (entry.failures > 0) return entry.retryAt
    return entry.certificate === undefined ? 0 : entry.issuedAt + entry.renewAtShare * certificateTtlMs.get()
  }

  async function renew(entry: Entry, signal: AbortSignal): Promise<void> {
    const { subject, services, onRenewed } = entry.dataPlane
    try {
      const { authority } = await authorityOf(subject.mesh)
      const certificate = await authority.issue({ mesh: subject.mesh, services, now: clock.now(), validMs: certificateTtlMs.get() })
      entry.certificate = certificate
      entry.issuedAt = clock.monotonic()
      entry.failures = 0
      if (entries.get(toKeyString(subject)) !== entry) return
      onRenewed()
      await record(entry, certificate, signal)
    } catch (error) {
      // Aborted or not: the next lap (or nobody, once detached) tries again after a growing wait.
      entry.failures++
      entry.retryAt = clock.monotonic() + backoffDelayMs(FAILURE_BACKOFF, entry.failures, random)
      if (!signal.aborted) onError(`renew the certificate of ${subject.mesh}.${subject.name}`, error)
    }
  }

  /** Adds the certificate's times to the insight the sink writes; everything else in it stays. */
  async function record({ dataPlane }: Entry, certificate: IssuedCertificate, signal: AbortSignal): Promise<void> {
    const mutate = (present: Resource<DataplaneInsight> | undefined): DataplaneInsight => ({
      ...(present?.spec ?? { subscriptions: [] }),
      mtls: {
        certificateExpiresAt: certificate.expiresAt,
        certificateRegeneratedAt: certificate.issuedAt,
        // Counted in the insight itself, so that a restart goes on from there.
        certificateRegenerations:
          (present?.spec.mtls?.certificateRegenerations ?? 0) +
          (present?.spec.mtls?.certificateRegeneratedAt === certificate.issuedAt ? 0 : 1),
        issuedBackend: ROOT_NAME,
      },
    })
    await upsert(insightKeyOf(dataPlane.subject), mutate, { writer: IDENTITY_WRITER, conflictRetry: retry(), signal }).catch((error) => {
      // The data plane was deregistered meanwhile: its insight went with it, and nobody misses these times.
      if (!isCoreError(error, 'owner_missing')) throw error
    })
  }

  function authorityOf(mesh: string) {
    const known = authorities.get(mesh)
    if (known !== undefined) return known
    const loading = loadRoot(mesh).then(async (root) => {
      roots.set(mesh, root.certificatePem)
      return { authority: await createCertificateAuthority(root), rootPem: root.certificatePem }
    })
    authorities.set(mesh, loading)
    loading.catch(() => authorities.delete(mesh))
    return loading
  }

  /** The mesh's root of trust, from the store; made there once, whoever comes first. */
  async function loadRoot(mesh: string): Promise<RootOfTrust> {
    const key: ResourceKey = { type: 'Secret', mesh, name: ROOT_NAME }
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        return (await store.get<RootOfTrust>(key)).spec
      } catch (error) {
        if (!isCoreError(error, 'not_found')) throw error
      }
      try {
        return (await store.create<RootOfTrust>({ key, spec: await createRootOfTrust(mesh, clock.now()) }, { writer: IDENTITY_WRITER }))
          .spec
      } catch (error) {
        if (!isCoreError(error, 'already_exists')) throw error
      }
    }
    throw new CoreError('unavailable', `the root of trust of mesh ${mesh} came and went while it was read`)
  }

  async function untilWokenOr(dueAt: number, signal: AbortSignal): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    wake = waiting.resolve
    const onAbort = () => waiting.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = dueAt === Infinity ? undefined : clock.at(dueAt, waiting.resolve)
    if (signal.aborted) waiting.resolve()
    await waiting.promise
    wake = undefined
    timer?.cancel()
    signal.removeEventListener('abort', onAbort)
  }
}
