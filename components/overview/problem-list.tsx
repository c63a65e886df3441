import Link from 'next/link'
import { Time } from '../time.tsx'
import type { Problem, ProblemPlace } from './problems.ts'

export interface ProblemListProps {
  readonly problems: readonly Problem[]
  readonly hrefOf: (place: ProblemPlace) => string
}

/** What is wrong comes first, each in a sentence with its evidence and the way to more of it. Nothing wrong: nothing here. */
export function ProblemList({ problems, hrefOf }: ProblemListProps) {
  if (problems.length === 0) return null
  return (
    <section aria-label="Problems" className="live-values flex flex-col gap-3">
      {problems.map(({ id, severity, title, evidence, since, link }) => (
        <article
          key={id}
          className={`grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-3.5 gap-y-2 rounded-xl border border-l-3 border-line bg-panel px-4 py-3 shadow-panel sm:grid-cols-[auto_minmax(0,1fr)_auto] ${
            severity === 'bad' ? 'border-l-stale' : 'border-l-late'
          }`}
        >
          <span
            aria-hidden
            className={`grid size-6.5 place-items-center rounded-lg font-bold ${severity === 'bad' ? 'bg-stale/14 text-stale-ink' : 'bg-late/16 text-late-ink'}`}
          >
            !
          </span>
          <div>
            <h2 className="text-[0.875rem] font-semibold">{title}</h2>
            <p className="text-muted">
              {since !== null && (
                <>
                  Since <Time at={since} />:{' '}
                </>
              )}
              {evidence}
            </p>
          </div>
          {link !== null && (
            <Link
              href={hrefOf(link.to)}
              className="col-start-2 justify-self-start rounded-lg border border-line bg-panel px-3 py-1.5 whitespace-nowrap hover:border-accent sm:col-start-3"
            >
              {link.label}
            </Link>
          )}
        </article>
      ))}
    </section>
  )
}
