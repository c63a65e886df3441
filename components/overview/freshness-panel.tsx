import Link from 'next/link'
import { type Freshness, freshnessLevels } from '../../server/model/freshness.ts'
import type { FreshnessStrip } from '../../server/model/views.ts'
import { formatCount, formatSpan } from '../format.ts'
import { FreshnessMark, FreshnessShape } from '../freshness-mark.tsx'
import { Panel } from '../ui/panel.tsx'
import { stripBarsOf, stripTableOf, stripZones } from './strip-bars.ts'

export interface FreshnessPanelProps {
  readonly strips: readonly FreshnessStrip[]
  /** Where the insights of a type at a level are listed. */
  readonly hrefOf: (type: string, level: Freshness) => string
}

const grid = 'grid grid-cols-1 gap-x-4 gap-y-1.5 lg:grid-cols-[9.5rem_minmax(0,1fr)_21rem] lg:items-center'
const fills: Readonly<Record<Freshness, string>> = { fresh: 'fill-fresh', late: 'fill-late', stale: 'fill-stale', offline: '', unknown: '' }

/** How many insights are how late, by type: what lies beyond a tide line is late, or stale. */
export function FreshnessPanel({ strips, hrefOf }: FreshnessPanelProps) {
  return (
    <Panel title="Freshness" aside={<Legend hasUnknown={strips.some(({ counts }) => counts.unknown > 0)} />} className="live-values">
      <div>
        {strips.map((strip) => (
          <Strip key={strip.type} strip={strip} hrefOf={hrefOf} />
        ))}
      </div>
      <div aria-hidden className={`${grid} max-lg:hidden`}>
        <Axis className="col-start-2" />
      </div>
    </Panel>
  )
}

function Legend({ hasUnknown }: { readonly hasUnknown: boolean }) {
  return (
    <span className="flex flex-wrap items-center gap-x-3">
      {freshnessLevels
        .filter((level) => level !== 'unknown' || hasUnknown)
        .map((level) => (
          <FreshnessMark key={level} level={level} />
        ))}
      <span>by age ÷ cadence</span>
    </span>
  )
}

function Axis({ className }: { readonly className: string }) {
  return (
    <div aria-hidden className={`relative h-4 text-[0.7rem] whitespace-nowrap text-muted ${className}`}>
      {axis.map(({ label, at }) => (
        <span key={label} className="absolute -translate-x-1/2 first:translate-x-0 last:-translate-x-full" style={{ left: `${at}%` }}>
          {label}
        </span>
      ))}
    </div>
  )
}

const axis = [
  { label: '0', at: 0 },
  { label: '1×', at: 25 },
  { label: 'late', at: 37.5 },
  { label: '2×', at: 50 },
  { label: 'stale', at: 75 },
  { label: '4×+', at: 100 },
]

function Strip({ strip, hrefOf }: { readonly strip: FreshnessStrip; readonly hrefOf: FreshnessPanelProps['hrefOf'] }) {
  const { type, cadenceMs, cadenceMaxMs, counts, buckets, oldestPendingMs } = strip
  const total = freshnessLevels.reduce((sum, level) => sum + counts[level], 0)
  const shown = freshnessLevels.filter((level) => level !== 'unknown' || counts.unknown > 0)
  return (
    <div className={`${grid} border-line py-1.5 not-first:border-t`}>
      <div>
        <h3 className="font-semibold">{type}</h3>
        <p className="text-xs text-muted">
          {formatCount(total)} · every {formatSpan(cadenceMs)}
          {cadenceMaxMs > cadenceMs && ` to ${formatSpan(cadenceMaxMs)}`}
        </p>
      </div>
      <div className="relative h-10 min-w-0">
        <Bars buckets={buckets} />
        {stripZones.map(({ level, from, to }) => (
          <Link
            key={level}
            href={hrefOf(type, level)}
            tabIndex={-1}
            aria-hidden
            title={`${formatCount(counts[level])} ${level}: list them`}
            className="absolute inset-y-0 rounded-sm hover:bg-ink/6"
            style={{ left: `${from}%`, width: `${to - from}%` }}
          />
        ))}
        <BucketTable type={type} buckets={buckets} />
      </div>
      <Axis className="lg:hidden" />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <ul className="flex flex-wrap gap-x-1">
          {shown.map((level) => (
            <li key={level}>
              <Link
                href={hrefOf(type, level)}
                title={`${level}: list them`}
                className={`flex min-h-6 items-center gap-1.5 rounded-md px-1.5 hover:bg-soft ${counts[level] === 0 ? 'text-muted' : ''}`}
              >
                <FreshnessShape level={level} />
                <span>
                  {formatCount(counts[level])}
                  <span className="sr-only"> {level}</span>
                </span>
              </Link>
            </li>
          ))}
        </ul>
        <span className="ml-auto text-xs text-muted" title="the change that has waited longest to be stored">
          {oldestPendingMs > 0 ? `oldest ${formatSpan(oldestPendingMs)}` : 'nothing waits'}
        </span>
      </div>
    </div>
  )
}

function Bars({ buckets }: { readonly buckets: readonly number[] }) {
  return (
    <svg aria-hidden viewBox="0 0 600 40" preserveAspectRatio="none" className="size-full">
      {stripZones.slice(0, 2).map(({ level, to }) => (
        <line
          key={level}
          x1={to * 6}
          x2={to * 6}
          y1="0"
          y2="40"
          className="stroke-muted opacity-70 [stroke-dasharray:2_3] [vector-effect:non-scaling-stroke]"
        />
      ))}
      <line x1="0" x2="600" y1="39.5" y2="39.5" className="stroke-line [vector-effect:non-scaling-stroke]" />
      {stripBarsOf(buckets).map(({ level, height }, index) =>
        height === 0 ? null : (
          // Its place is its identity.
          <rect key={index} x={index * 10 + 0.8} width="8.4" y={39 - 37 * height} height={37 * height} rx="1.5" className={fills[level]} />
        ),
      )}
    </svg>
  )
}

/** The picture, for who cannot see it. */
function BucketTable({ type, buckets }: { readonly type: string; readonly buckets: readonly number[] }) {
  return (
    <table className="sr-only">
      <caption>{type}: online insights by lateness</caption>
      <tbody>
        {stripTableOf(buckets).map(({ label, count }) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>{count}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
