import type { ConflictCell } from './views.ts'

/** Below this many conflicts a minute two writers merely meet now and then. */
const STORM_PER_MINUTE = 6

/**
 * The two writers who fight most, in one sentence; null when none do. Counted over a window of `windowMs`: conflicts of either
 * one lost to the other.
 */
export function fightOf(cells: readonly ConflictCell[], windowMs: number): string | null {
  const pairs = new Map<string, { readonly writers: readonly [string, string]; readonly type: string; count: number; harmful: number }>()
  for (const { writer, lostTo, type, benign, harmful } of cells) {
    const [first, second] = [writer, lostTo].sort((a, b) => (a < b ? -1 : 1)) as [string, string]
    const id = `${type} ${first} ${second}`
    const pair = pairs.get(id) ?? { writers: [first, second], type, count: 0, harmful: 0 }
    pair.count += benign + harmful
    pair.harmful += harmful
    pairs.set(id, pair)
  }
  const worst = [...pairs.values()].sort((a, b) => b.harmful - a.harmful || b.count - a.count)[0]
  if (worst === undefined || worst.count / (windowMs / 60_000) < STORM_PER_MINUTE) return null
  const [first, second] = worst.writers
  const who = first === second ? `Several writers named ${first}` : `${first} and ${second}`
  const cost = worst.harmful === 0 ? 'all benign' : `${worst.harmful} of them harmful`
  return `${who} are fighting over ${worst.type}s: ${worst.count} conflicts in ${spanWord(windowMs)}, ${cost}.`
}

function spanWord(windowMs: number): string {
  const minutes = windowMs / 60_000
  return minutes === 1 ? 'the last minute' : `the last ${minutes} minutes`
}
