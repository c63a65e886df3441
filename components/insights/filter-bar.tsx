'use client'

import { type ReactNode, type Ref, useEffect, useEffectEvent, useState } from 'react'
import { type Freshness, freshnessLevels } from '../../server/model/freshness.ts'
import type { InsightSort } from '../../server/model/views.ts'
import { formatCount } from '../format.ts'
import { FreshnessShape } from '../freshness-mark.tsx'

const sortLabels: Readonly<Record<InsightSort, string>> = {
  worst: 'worst first',
  name: 'name',
  lastWrite: 'last write',
  conflicts: 'conflicts',
}

export interface ListFilters {
  readonly q: string
  readonly type: string | null
  readonly mesh: string | null
  readonly freshness: readonly Freshness[]
  readonly rejecting: boolean
  readonly sort: InsightSort
}

export interface FilterBarProps {
  readonly filters: ListFilters
  readonly onChange: (change: Partial<ListFilters>) => void
  readonly counts: Readonly<Record<Freshness, number>>
  readonly rejecting: number
  readonly types: readonly string[]
  readonly meshes: readonly string[]
  readonly searchRef: Ref<HTMLInputElement>
  /** What stands at the right end: the export. */
  readonly children?: ReactNode
}

/** What narrows the list. Nothing chosen shows everything; counts are of all insights, whatever else is chosen. */
export function FilterBar({ filters, onChange, counts, rejecting, types, meshes, searchRef, children }: FilterBarProps) {
  const shown = freshnessLevels.filter((level) => level !== 'unknown' || counts.unknown > 0 || filters.freshness.includes('unknown'))
  return (
    <search className="flex flex-wrap items-center gap-2">
      <SearchBox value={filters.q} onChange={(q) => onChange({ q })} inputRef={searchRef} />
      {(types.length > 1 || filters.type !== null) && (
        <Choice label="Type" all="all types" value={filters.type} options={types} onChange={(type) => onChange({ type })} />
      )}
      {(meshes.length > 1 || filters.mesh !== null) && (
        <Choice label="Mesh" all="all meshes" value={filters.mesh} options={meshes} onChange={(mesh) => onChange({ mesh })} />
      )}
      <div
        role="group"
        aria-label="Freshness"
        title="How many there are in all, whatever else is chosen"
        className="flex flex-wrap items-center gap-2"
      >
        {shown.map((level) => (
          <Chip
            key={level}
            isOn={filters.freshness.includes(level)}
            onClick={() =>
              onChange({
                freshness: filters.freshness.includes(level)
                  ? filters.freshness.filter((other) => other !== level)
                  : [...filters.freshness, level],
              })
            }
          >
            <FreshnessShape level={level} /> {level} <Count value={counts[level]} />
          </Chip>
        ))}
        <Chip isOn={filters.rejecting} onClick={() => onChange({ rejecting: !filters.rejecting })}>
          rejecting <Count value={rejecting} isBad />
        </Chip>
      </div>
      <div className="ml-auto flex items-center gap-2">
        <label className="flex items-center">
          <span className="sr-only">Sort by</span>
          <select value={filters.sort} onChange={(event) => onChange({ sort: event.target.value as InsightSort })} className={selectStyle}>
            {Object.entries(sortLabels).map(([sort, label]) => (
              <option key={sort} value={sort}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {children}
      </div>
    </search>
  )
}

/** Typing is told when it pauses: each word asks the server for an order. A change from outside (a cleared filter, the back button) wins over it. */
const TYPING_PAUSE_MS = 150

interface SearchBoxProps {
  readonly value: string
  readonly onChange: (q: string) => void
  readonly inputRef: Ref<HTMLInputElement>
}

function SearchBox({ value, onChange, inputRef }: SearchBoxProps) {
  const [typed, setTyped] = useState(value)
  const [told, setTold] = useState(value)
  const [before, setBefore] = useState(value)
  if (value !== before) {
    setBefore(value)
    if (value !== told) {
      setTold(value)
      setTyped(value)
    }
  }
  const tell = useEffectEvent(() => {
    setTold(typed)
    onChange(typed)
  })
  useEffect(() => {
    if (typed === told) return
    const timer = setTimeout(tell, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed, told])
  return (
    <label className="relative flex min-w-52 flex-1 items-center sm:max-w-72">
      <span className="sr-only">Filter by words in mesh and name</span>
      <input
        ref={inputRef}
        type="search"
        value={typed}
        placeholder="filter by name or mesh"
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        onChange={(event) => setTyped(event.target.value)}
        className="h-8 w-full rounded-lg border border-control bg-panel pr-8 pl-2.5 placeholder:text-muted"
      />
      <kbd aria-hidden className="pointer-events-none absolute right-2 rounded-sm border border-line px-1 text-xs text-muted">
        /
      </kbd>
    </label>
  )
}

const selectStyle = 'h-8 cursor-pointer rounded-full border border-control bg-panel px-2.5 text-ink'

interface ChoiceProps {
  readonly label: string
  readonly all: string
  readonly value: string | null
  readonly options: readonly string[]
  readonly onChange: (value: string | null) => void
}

function Choice({ label, all, value, options, onChange }: ChoiceProps) {
  return (
    <label>
      <span className="sr-only">{label}</span>
      <select
        value={value ?? ''}
        onChange={(event) => onChange(event.target.value === '' ? null : event.target.value)}
        className={`${selectStyle} ${value === null ? '' : 'border-accent'}`}
      >
        <option value="">{all}</option>
        {(value === null || options.includes(value) ? options : [value, ...options]).map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}

function Chip({ isOn, onClick, children }: { readonly isOn: boolean; readonly onClick: () => void; readonly children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className={`inline-flex h-7 cursor-pointer items-center gap-1.5 rounded-full border bg-panel px-2.5 hover:text-ink ${
        isOn ? 'border-accent text-ink inset-ring inset-ring-accent' : 'border-line text-muted'
      }`}
    >
      {children}
    </button>
  )
}

function Count({ value, isBad = false }: { readonly value: number; readonly isBad?: boolean }) {
  return <b className={`font-semibold ${isBad && value > 0 ? 'text-stale-ink' : 'text-ink'}`}>{formatCount(value)}</b>
}
