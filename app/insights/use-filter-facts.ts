'use client'

import { useMemo } from 'react'
import { type Freshness, freshnessLevels } from '../../server/model/freshness.ts'
import type { InsightSummary } from '../../server/model/views.ts'
import { useGlance } from '../live/use-live.ts'

/** What the filters offer and count, live. */
export function useFilterFacts(type: string | null, meshes: readonly string[]) {
  const summary = useGlance((glance) => glance.summary)
  const rejecting = useGlance((glance) => glance.rejecting)
  return useMemo(
    () => ({
      counts: countsOf(summary, type),
      rejecting,
      types: Object.keys(summary).toSorted((a, b) => a.localeCompare(b)),
      meshes,
    }),
    [summary, rejecting, type, meshes],
  )
}

function countsOf(summary: InsightSummary, type: string | null): Readonly<Record<Freshness, number>> {
  const chosen = Object.entries(summary).filter(([name]) => type === null || name === type)
  const sum = (level: Freshness) => chosen.reduce((total, [, counts]) => total + counts[level], 0)
  return Object.fromEntries(freshnessLevels.map((level) => [level, sum(level)])) as Record<Freshness, number>
}
