import type { ReactNode, Ref } from 'react'
import { formatCount } from '../format.ts'
import type { StreamCounts, StreamFilter } from './stream-list.ts'
import { StatusShape } from './type-mark.tsx'

export interface StreamFiltersProps {
  readonly filter: StreamFilter
  readonly counts: StreamCounts
  readonly onChange: (change: Partial<StreamFilter>) => void
  readonly searchRef: Ref<HTMLInputElement>
}

const states = [
  { state: 'rejecting', shape: 'rejected' },
  { state: 'pending', shape: 'pending' },
  { state: 'synced', shape: 'synced' },
] as const

/** What narrows the list; counts are of all streams, whatever else is chosen. */
export function StreamFilters({ filter, counts, onChange, searchRef }: StreamFiltersProps) {
  return (
    <search className="flex flex-wrap items-center gap-2">
      <input
        type="search"
        aria-label="Filter by name or mesh"
        placeholder="filter by name or mesh"
        ref={searchRef}
        value={filter.q}
        onChange={({ target }) => onChange({ q: target.value })}
        className="h-8 w-64 max-w-full rounded-lg border border-control bg-panel px-2.5"
      />
      {counts.meshes.length > 1 && (
        <select
          aria-label="Mesh"
          value={filter.mesh ?? ''}
          onChange={({ target }) => onChange({ mesh: target.value === '' ? null : target.value })}
          className="h-8 rounded-full border border-control bg-panel px-2.5"
        >
          <option value="">all meshes</option>
          {counts.meshes.map((mesh) => (
            <option key={mesh}>{mesh}</option>
          ))}
        </select>
      )}
      <div role="group" aria-label="State" className="flex flex-wrap gap-2">
        {states.map(({ state, shape }) => (
          <Chip key={state} isOn={filter.state === state} onClick={() => onChange({ state: filter.state === state ? null : state })}>
            <StatusShape status={shape} /> {state} <b className="font-semibold text-ink">{formatCount(counts[state])}</b>
          </Chip>
        ))}
      </div>
      <div role="group" aria-label="Variant" className="flex flex-wrap gap-2">
        {(['sotw', 'delta'] as const).map((variant) => (
          <Chip
            key={variant}
            isOn={filter.variant === variant}
            onClick={() => onChange({ variant: filter.variant === variant ? null : variant })}
          >
            {variant} <b className="font-semibold text-ink">{formatCount(counts[variant])}</b>
          </Chip>
        ))}
      </div>
    </search>
  )
}

function Chip({ isOn, onClick, children }: { readonly isOn: boolean; readonly onClick: () => void; readonly children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className={`inline-flex h-8 cursor-pointer items-center gap-1.5 rounded-full border bg-panel px-2.5 whitespace-nowrap text-muted ${isOn ? 'border-accent' : 'border-line hover:border-accent'}`}
    >
      {children}
    </button>
  )
}
