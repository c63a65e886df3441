import { heartbeatAgeMsAt, LATE_ABOVE, pendingMsAt } from './freshness.ts'
import type { Counters, InsightDetail, WriteRecord } from './views.ts'

export interface LatenessEvidence extends Omit<InsightDetail, 'why' | 'settings'> {
  readonly storeProblem: Counters['storeProblem']
}

/** Why an insight is as late as it is, in one sentence for an operator; null when it is fresh and quiet. The gravest reason wins. */
export function whyLate(evidence: LatenessEvidence, now: number): string | null {
  const { row } = evidence
  if (row.source !== null) return whyObserved(evidence, row.source, now)
  if (row.heartbeatAt === 0) return `Nothing of it is stored yet: its first flush is ${dueIn(evidence.nextFlushAt, now)}.`
  if (!row.online) return whyOffline(evidence, now)
  const isBehind = pendingMsAt(row, now) > LATE_ABOVE * row.cadenceMs
  if (isBehind) return `${inWords(pendingMsAt(row, now))} behind: ${whyBehind(evidence, now)}.`
  const silentMs = heartbeatAgeMsAt(row, now)
  if (row.heartbeatMs > 0 && silentMs > LATE_ABOVE * row.heartbeatMs)
    return `Its sink has not moved its generation for ${inWords(silentMs)}: it should every ${inWords(row.heartbeatMs)}, so whoever holds its stream has stopped or cannot write.`
  return whyRejecting(evidence, now) ?? whyWaiting(evidence, now)
}

/** Of what is stored elsewhere no flush of ours can be told: only how late it is there, and what its source says of it. */
function whyObserved(evidence: LatenessEvidence, source: string, now: number): string | null {
  const { row, note } = evidence
  const behindMs = pendingMsAt(row, now)
  const silentMs = heartbeatAgeMsAt(row, now)
  const besides = note === null ? '' : ` ${sentenceEnd(note)}`
  if (row.heartbeatAt === 0) return `How old it is cannot be told: ${source} has shown no sign of life of it.${besides}`
  if (!row.online) return `${whyOffline(evidence, now)}${besides}`
  if (behindMs > LATE_ABOVE * row.cadenceMs)
    return `${inWords(behindMs)} behind: its status should follow within ${inWords(row.cadenceMs)}.${besides}`
  if (row.heartbeatMs > 0 && silentMs > LATE_ABOVE * row.heartbeatMs)
    return `Not renewed for ${inWords(silentMs)}: it should be every ${inWords(row.heartbeatMs)}.${besides}`
  const rejecting = whyRejecting(evidence, now)
  return rejecting === null ? note : `${rejecting}${besides}`
}

function whyOffline({ row }: LatenessEvidence, now: number): string {
  const since = row.offlineSince === null ? '' : ` ${inWords(now - row.offlineSince)} ago`
  const unsaved = row.pendingSince === null ? '' : '; its last status is not stored yet'
  return `Its ${subjectWord(row.subject.type)} disconnected${since}${unsaved}.`
}

function whyBehind(evidence: LatenessEvidence, now: number): string {
  const { row, storeProblem, nextFlushAt } = evidence
  if (storeProblem !== null) return `the store has not answered for ${inWords(now - storeProblem.since)} (${storeProblem.message})`
  const lost = lostInARow(evidence.writes)
  if (lost.length > 0) return `its last ${lost.length === 1 ? 'write' : `${inNumberWord(lost.length)} writes`} lost to ${winners(lost)}`
  if (nextFlushAt === null) return 'no flush of it is planned on this instance'
  return `it should be written every ${inWords(row.cadenceMs)}, and its next flush is ${dueIn(nextFlushAt, now)}`
}

function whyRejecting({ row, subscriptions }: LatenessEvidence, now: number): string | null {
  if (row.nacked.length === 0) return null
  const open = subscriptions.findLast(({ disconnectedAt }) => disconnectedAt === undefined)
  const rejections = row.nacked.flatMap((type) => open?.types[type]?.rejection ?? [])
  if (rejections.length === 0) return `Rejects ${listOf(row.nacked)}.`
  const since = Math.min(...rejections.map((rejection) => rejection.since))
  return `Has rejected ${listOf(row.nacked)} for ${inWords(now - since)}: ${sentenceEnd(rejections[0]?.reason ?? '')}`
}

function whyWaiting({ row, writes, nextFlushAt }: LatenessEvidence, now: number): string | null {
  if (row.pendingSince === null) return null
  const lost = lostInARow(writes)
  const flush = nextFlushAt === null ? 'Waiting for its next flush' : `Waiting for its next flush, ${dueIn(nextFlushAt, now)}`
  return lost.length === 0 ? `${flush}, within the cadence.` : `${flush}: its last write lost to ${winners(lost)}.`
}

/** The newest writes of one writer that were refused one after another; writes of others between them do not end the row. */
function lostInARow(writes: readonly WriteRecord[]): readonly WriteRecord[] {
  const loser = writes.findLast(({ outcome }) => outcome === 'conflict')?.writer
  const own = writes.filter(({ writer }) => writer === loser)
  return own.slice(own.findLastIndex(({ outcome }) => outcome === 'written') + 1)
}

function winners(lost: readonly WriteRecord[]): string {
  return listOf([...new Set(lost.map(({ lostTo }) => lostTo?.writer ?? 'another writer'))])
}

function dueIn(nextFlushAt: number | null, now: number): string {
  if (nextFlushAt === null) return 'not planned on this instance'
  return nextFlushAt - now < 500 ? 'due now' : `due in ${inWords(nextFlushAt - now)}`
}

function subjectWord(type: string): string {
  return type === 'Dataplane' ? 'data plane' : type.toLowerCase()
}

function listOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

const numberWords = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
function inNumberWord(count: number): string {
  return numberWords[count] ?? String(count)
}

/** A span as people say it: 0.4 s, 38 s, 2.5 min, 2 h 5 min, 3 d. */
function inWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`
  if (seconds < 119.5) return `${Math.round(seconds)} s`
  if (seconds < 9.95 * 60) return `${Number((seconds / 60).toFixed(1))} min`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours >= 48) return `${Math.floor(hours / 24)} d`
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
}

const REASON_SHOWN = 200
function sentenceEnd(reason: string): string {
  const oneLine = reason.replaceAll(/\s+/g, ' ').trim()
  const shown = oneLine.length > REASON_SHOWN ? `${oneLine.slice(0, REASON_SHOWN)}…` : oneLine
  return /[.!?…]$/.test(shown) ? shown : `${shown}.`
}
