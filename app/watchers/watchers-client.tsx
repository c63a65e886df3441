'use client'

import { useQuery } from '@tanstack/react-query'
import { useQueryStates } from 'nuqs'
import { fits, type LinkFilter } from '../../components/watchers/link-words.ts'
import { linkCsv } from '../../components/watchers/link-csv.ts'
import { LinkTable } from '../../components/watchers/link-table.tsx'
import { LaneLegend } from '../../components/watchers/swim-lane.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import type { LinkRow } from '../../server/model/link-row.ts'
import { useEscape } from '../insights/use-page-keys.ts'
import { problemText } from '../insights/problem-text.ts'
import { useWhenLiveAgain } from '../insights/use-when-live-again.ts'
import { useTRPC } from '../trpc-client.tsx'
import { OpenLink } from './open-link.tsx'
import { watchersSearchParams } from './search-params.ts'

/** How often the list is read while it is looked at. */
const REREAD_MS = 1_000
const filters: readonly LinkFilter[] = ['live', 'waiting', 'trouble', 'paused']

export function WatchersClient() {
  const trpc = useTRPC()
  const [view, setView] = useQueryStates(watchersSearchParams)
  const links = useQuery(trpc.links.list.queryOptions(undefined, { refetchInterval: REREAD_MS }))
  useWhenLiveAgain(() => void links.refetch())
  useEscape(view.link !== null, () => void setView({ link: null }))

  if (links.data === undefined) {
    if (links.error === null) return <Skeleton lines={8} label="the links" />
    return (
      <BlockMessage title="The links could not be read" onRetry={() => void links.refetch()}>
        {problemText(links.error)}
      </BlockMessage>
    )
  }
  const all = links.data.items
  if (all.length === 0) return <NoLinks />
  const shown = all.filter((link) => fits(link, view.state))
  const open = (link: string | null) => void setView({ link }, { history: 'push' })
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <div role="group" aria-label="State" className="flex flex-wrap gap-2">
          <Chip isOn={view.state === null} count={all.length} onClick={() => void setView({ state: null })}>
            all
          </Chip>
          {filters.map((state) => (
            <Chip
              key={state}
              isOn={view.state === state}
              count={all.filter((link) => fits(link, state)).length}
              onClick={() => void setView({ state: view.state === state ? null : state })}
            >
              {state === 'trouble' ? 'in trouble' : state}
            </Chip>
          ))}
        </div>
        <Button onClick={() => save(linkCsv(shown))}>CSV</Button>
        <div className="ml-auto">
          <LaneLegend />
        </div>
      </div>
      <div className="flex flex-col items-start gap-3 lg:flex-row">
        {shown.length === 0 ? (
          <div className="w-full flex-1 rounded-xl border border-line bg-panel">
            <BlockMessage title="No link is like that now">
              <Button onClick={() => void setView({ state: null })}>Show all {all.length}</Button>
            </BlockMessage>
          </div>
        ) : (
          <div className="w-full min-w-0 flex-1">
            <LinkTable links={shown} selected={view.link} onSelect={(id) => open(id === view.link ? null : id)} />
          </div>
        )}
        {view.link !== null && <OpenLink key={view.link} id={view.link} link={byId(all, view.link)} onClose={() => open(null)} />}
      </div>
    </div>
  )
}

function byId(links: readonly LinkRow[], id: string): LinkRow | undefined {
  return links.find((link) => link.id === id)
}

function NoLinks() {
  return (
    <BlockMessage title="Nothing is watched yet">
      Name what to watch in the config file, for example
      <pre className="my-2 overflow-x-auto rounded-md bg-soft p-2 text-left font-mono text-xs">
        {'watchers:\n  - { id: nodes, apiVersion: v1, kind: Node }\n  - { id: leases, apiVersion: coordination.k8s.io/v1, kind: Lease }'}
      </pre>
      or a running Kuma control plane to read:
      <pre className="my-2 overflow-x-auto rounded-md bg-soft p-2 text-left font-mono text-xs">
        {'kuma:\n  - { id: prod-global, url: "http://127.0.0.1:5681" }'}
      </pre>
      and start with <code>--config FILE</code>. The cluster is that of your KUBECONFIG.
    </BlockMessage>
  )
}

interface ChipProps {
  readonly isOn: boolean
  readonly count: number
  readonly onClick: () => void
  readonly children: string
}

function Chip({ isOn, count, onClick, children }: ChipProps) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className={`inline-flex h-8 cursor-pointer items-center gap-1.5 rounded-full border bg-panel px-2.5 whitespace-nowrap text-muted ${isOn ? 'border-accent' : 'border-line hover:border-accent'}`}
    >
      {children} <b className="font-semibold text-ink">{count}</b>
    </button>
  )
}

function save(csv: string) {
  const url = URL.createObjectURL(new Blob([csv], { type: 'text/csv;charset=utf-8' }))
  Object.assign(document.createElement('a'), {
    href: url,
    download: `links-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}Z.csv`,
  }).click()
  URL.revokeObjectURL(url)
}
