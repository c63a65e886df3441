import type { LinkCounts } from '../../server/model/link-row.ts'
import type { CountersGlance, FreshnessStrip } from '../../server/model/views.ts'
import { formatQuantity, formatSpan } from '../format.ts'

/** Something an operator should know before anything else, in a sentence with its evidence. */
export interface Problem {
  readonly id: string
  readonly severity: 'bad' | 'warn'
  readonly title: string
  readonly evidence: string
  /** Since when, epoch ms, where it is known. */
  readonly since: number | null
  readonly link: { readonly to: ProblemPlace; readonly label: string } | null
}

export type ProblemPlace =
  | { readonly page: 'sinks' }
  | { readonly page: 'streams' }
  | { readonly page: 'watchers'; readonly link: string }
  | { readonly page: 'insights'; readonly freshness?: 'stale'; readonly rejecting?: true }

/** A loop this late at its worst makes every due time as late. */
const LOOP_LATE_MS = 200

/**
 * The gravest first; empty when all is well. What is only late, or rejects by itself, is a matter of the page below, not of its head.
 * `strips` are evidence: who only counts problems needs none.
 */
export function problemsOf(glance: CountersGlance, strips: readonly FreshnessStrip[] = []): readonly Problem[] {
  const { storeProblem, storeSlow, sinks, eventLoopLagMs, summary, links, zones, readers, interruption } = glance
  const problems: Problem[] = []
  if (storeProblem !== null)
    problems.push({
      id: 'store',
      severity: 'bad',
      title: 'The store does not answer, so nothing is written',
      evidence: `${storeProblem.message}. Status is kept in memory and written when it answers again.`,
      since: storeProblem.since,
      link: null,
    })
  else if (storeSlow !== null)
    problems.push({
      id: 'disk',
      severity: 'warn',
      title: `The disk is slow: a commit takes ${formatSpan(storeSlow.commitMs)}`,
      evidence: 'Status waits for it, and is written in larger groups. Look after the disk of --data-dir, or what else writes to it.',
      since: storeSlow.since,
      link: null,
    })
  // A store that does not answer is told once, not again with each sink that hears the same.
  for (const { name, lastError } of sinks)
    if (lastError !== null && lastError.message !== storeProblem?.message)
      problems.push({
        id: `sink ${name}`,
        severity: 'bad',
        title: `The ${name} sink fails to write`,
        evidence: `${lastError.message}. Each failed flush is tried again with the next tick.`,
        since: lastError.at,
        link: { to: { page: 'sinks' }, label: 'See the sink' },
      })
  if (links.worst !== null) problems.push(linkProblem(links, links.worst))
  for (const [type, { stale }] of Object.entries(summary))
    if (stale > 0)
      problems.push({
        id: `stale ${type}`,
        severity: 'bad',
        title: `${formatQuantity(stale, type)} ${stale === 1 ? 'is' : 'are'} stale`,
        evidence: whyStale(strips.find((strip) => strip.type === type)),
        since: null,
        link: { to: { page: 'insights', freshness: 'stale' }, label: 'See which' },
      })
  if (zones.rejecting > 0)
    problems.push({
      id: 'zones',
      severity: 'warn',
      title: `${formatQuantity(zones.rejecting, 'zone')} ${zones.rejecting === 1 ? 'does' : 'do'} not take all that is sent`,
      evidence: 'What is refused is named, with the reason, and sent again with growing waits; all else flows.',
      since: null,
      link: { to: { page: 'streams' }, label: 'See what' },
    })
  if (eventLoopLagMs.p99 > LOOP_LATE_MS)
    problems.push({
      id: 'loop',
      severity: 'warn',
      title: `The event loop is up to ${formatSpan(eventLoopLagMs.p99)} late`,
      evidence:
        'Every flush and every answer is late by as much. The process has too little CPU, or something in it takes too long in one go.',
      since: null,
      link: null,
    })
  if (interruption !== null) problems.push(interruptionProblem(interruption))
  if (readers.stalled + readers.dropped > 0) problems.push(readersProblem(readers))
  return problems
}

function whyStale(strip: FreshnessStrip | undefined): string {
  if (strip === undefined || strip.oldestPendingMs <= 3 * strip.cadenceMs)
    return 'Their heartbeat has not moved for three times its cadence.'
  return `The oldest change has waited ${formatSpan(strip.oldestPendingMs)} where one is due every ${formatSpan(strip.cadenceMs)}.`
}

function interruptionProblem({ kind, endedAt, ms }: NonNullable<CountersGlance['interruption']>): Problem {
  const told = { id: 'interruption', severity: 'warn', since: endedAt, link: null } as const
  switch (kind) {
    case 'stopped':
      return {
        ...told,
        title: `This process did not run for ${formatSpan(ms)}`,
        evidence: 'It runs again, and what was due has been caught up with. It was stopped, or its machine slept or had no CPU for it.',
      }
    case 'blocked':
      return {
        ...told,
        title: `Something in this process took ${formatSpan(ms)} in one go`,
        evidence: 'It goes on, and what was due has been caught up with. Meanwhile nothing else was flushed or answered.',
      }
    case 'clock_set':
      return {
        ...told,
        title: `The clock of this machine moved ${ms < 0 ? 'back' : 'on'} by ${formatSpan(Math.abs(ms))}`,
        evidence:
          'It was set, or the machine slept. Ages and due times are measured by time passed, so they stay true; moments written before are by the clock as it was.',
      }
  }
}

function readersProblem({ stalled, dropped }: CountersGlance['readers']): Problem {
  const parts = [
    ...(stalled > 0 ? [`${formatQuantity(stalled, 'page or script', 'pages or scripts')} cannot keep up`] : []),
    ...(dropped > 0 ? [`${formatQuantity(dropped, 'client')} dropped in the last minute`] : []),
  ]
  return {
    id: 'readers',
    severity: 'warn',
    title: parts.join(', '),
    evidence: 'They read too slowly, or no longer answer. Each gets everything anew when it has read what waits for it, or connects again.',
    since: null,
    link: null,
  }
}

function linkProblem(
  { total, byHealth }: LinkCounts,
  { id, health, lastError, withoutSuccessSince }: NonNullable<LinkCounts['worst']>,
): Problem {
  const troubled = byHealth.degraded + byHealth.unhealthy
  const why = lastError === null ? 'its endpoint is down' : `${lastError.class.replace('_', ' ')}: ${lastError.message.replace(/\.$/, '')}`
  const until = health === 'degraded' ? 'It is tried again, but somebody has to act.' : 'It is tried again until it works.'
  return {
    id: 'links',
    severity: 'bad',
    title: troubled === 1 ? `The link ${id} is ${health}` : `${troubled} of ${total} links are in trouble, ${id} above all`,
    evidence: `${why}. ${until}`,
    since: withoutSuccessSince,
    link: { to: { page: 'watchers', link: id }, label: 'See what to do' },
  }
}
