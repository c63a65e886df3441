'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ConflictPanel } from '../../components/overview/conflict-panel.tsx'
import { FreshnessPanel } from '../../components/overview/freshness-panel.tsx'
import { ProblemList } from '../../components/overview/problem-list.tsx'
import { type ProblemPlace, problemsOf } from '../../components/overview/problems.ts'
import { SinksSummary } from '../../components/overview/sinks-summary.tsx'
import { StreamsPanel } from '../../components/overview/streams-panel.tsx'
import { lazyPart } from '../../components/ui/lazy-part.tsx'
import { Panel } from '../../components/ui/panel.tsx'
import type { Freshness } from '../../server/model/freshness.ts'
import { insightsHref } from '../insights/insights-href.ts'
import { useWhenLiveAgain } from '../insights/use-when-live-again.ts'
import { useCounters } from '../live/use-counters.ts'
import { useTRPC } from '../trpc-client.tsx'

/** What most who look at this page never see is no part of its first load. */
const { Part: NoInsights } = lazyPart(() => import('../../components/insights/no-insights.tsx').then((file) => file.NoInsights))
const { Part: DemoPanel } = lazyPart(() => import('./demo-panel.tsx').then((file) => file.DemoPanel))

export function OverviewClient() {
  const trpc = useTRPC()
  const counters = useCounters((all) => all)
  const { data: self, refetch } = useSuspenseQuery(trpc.instances.self.queryOptions())
  // Whoever answers after a silence may be another process, on other ports.
  useWhenLiveAgain(() => void refetch())
  return (
    <div className="flex flex-col gap-3">
      <ProblemList problems={problemsOf(counters, counters.strips)} hrefOf={hrefOfProblem} />
      {counters.insightsTotal === 0 ? (
        <Panel title="Freshness" className="live-values">
          <NoInsights xds={self.xds} />
        </Panel>
      ) : (
        <FreshnessPanel strips={counters.strips} hrefOf={hrefOfLevel} />
      )}
      <div className="grid gap-3 lg:grid-cols-[1.15fr_1fr]">
        <div className="flex min-w-0 flex-col gap-3">
          <ConflictPanel {...counters.conflicts} />
          {self.demo && <DemoPanel />}
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <SinksSummary sinks={counters.sinks} sinksHref="/sinks" />
          <StreamsPanel
            counters={counters}
            self={self}
            rejectingHref={insightsHref({ rejecting: true })}
            streamsHref="/streams"
            watchersHref="/watchers"
          />
        </div>
      </div>
    </div>
  )
}

const hrefOfLevel = (type: string, level: Freshness) => insightsHref({ type, freshness: [level] })

function hrefOfProblem(place: ProblemPlace): string {
  if (place.page === 'sinks') return '/sinks'
  if (place.page === 'streams') return '/streams'
  if (place.page === 'watchers') return `/watchers?link=${encodeURIComponent(place.link)}`
  return insightsHref({
    ...(place.freshness !== undefined && { freshness: [place.freshness] }),
    ...(place.rejecting !== undefined && { rejecting: true }),
  })
}
