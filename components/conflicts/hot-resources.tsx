import Link from 'next/link'
import type { ReactNode } from 'react'
import type { InsightRow } from '../../server/model/views.ts'
import { formatCount } from '../format.ts'
import { FreshnessMark } from '../freshness-mark.tsx'

export interface HotResourcesProps {
  readonly rows: readonly InsightRow[]
  /** `type/mesh/name` of the one whose writes are shown. */
  readonly open: string | null
  readonly onOpen: (row: InsightRow) => void
  readonly keyOf: (row: InsightRow) => string
  readonly hrefOf: (row: InsightRow) => string
  /** What is shown under the open one. */
  readonly children: ReactNode
}

const headings = [
  { label: 'Insight', className: 'text-left' },
  { label: 'Mesh', className: 'text-left max-sm:hidden' },
  { label: 'Freshness', className: 'text-left max-sm:hidden' },
  { label: 'Harmful', className: 'text-right' },
  { label: 'Benign', className: 'text-right' },
  { label: 'Last writer', className: 'text-left max-sm:hidden' },
  { label: 'Writes', className: 'text-left' },
] as const

/** The insights that were fought over most. */
export function HotResources({ rows, open, onOpen, keyOf, hrefOf, children }: HotResourcesProps) {
  return (
    <div className="relative overflow-x-auto">
      <table className="w-full sm:min-w-max">
        <caption className="sr-only">Insights by conflicts, most first</caption>
        <thead className="text-xs text-muted">
          <tr>
            {headings.map(({ label, className }) => (
              <th key={label} scope="col" className={`px-2 py-1 font-normal ${className}`}>
                {label === 'Writes' ? <span className="sr-only">{label}</span> : label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const isOpen = keyOf(row) === open
            return [
              <tr key={keyOf(row)} className="border-t border-line">
                <th scope="row" className="px-2 py-1.5 text-left font-semibold">
                  <Link href={hrefOf(row)} className="hover:underline">
                    {row.key.name}
                  </Link>
                </th>
                <td className="px-2 py-1.5 text-muted max-sm:hidden">{row.key.mesh}</td>
                <td className="px-2 py-1.5 max-sm:hidden">
                  <FreshnessMark level={row.freshness} />
                </td>
                <td className={`px-2 py-1.5 text-right ${row.conflicts.harmful > 0 ? 'font-semibold text-stale-ink' : 'text-muted'}`}>
                  {formatCount(row.conflicts.harmful)}
                </td>
                <td className="px-2 py-1.5 text-right">{formatCount(row.conflicts.benign)}</td>
                <td className="px-2 py-1.5 max-sm:hidden">
                  <code>{row.writer}</code>
                </td>
                <td className="px-2 py-1.5 text-right">
                  <button
                    type="button"
                    aria-expanded={isOpen}
                    aria-label={`Writes of ${row.key.name}`}
                    onClick={() => onOpen(row)}
                    className="cursor-pointer text-accent hover:underline"
                  >
                    {isOpen ? 'hide' : 'who wrote when'}
                  </button>
                </td>
              </tr>,
              isOpen && (
                <tr key={`${keyOf(row)} writes`}>
                  <td colSpan={headings.length} className="bg-soft/50 px-3 py-3">
                    {children}
                  </td>
                </tr>
              ),
            ]
          })}
        </tbody>
      </table>
    </div>
  )
}
