'use client'

import Link from 'next/link'
import { usePathname } from 'next/navigation'
import { problemsOf } from '../../components/overview/problems.ts'
import { useGlance } from '../live/use-live.ts'
import { destinationOf, destinations } from './destinations.ts'
import { OperatorButton } from './operator-button.tsx'

export function Navigation({ onNavigate }: { readonly onNavigate?: () => void }) {
  const here = destinationOf(usePathname())
  const problems = useGlance((glance) => problemsOf(glance).length)
  const troubled = useGlance(({ links }) => links.byHealth.degraded + links.byHealth.unhealthy)
  return (
    <div className="flex h-full flex-col">
      <p className="flex items-center gap-2 px-2.5 pt-1 pb-4 text-[0.95rem] font-semibold tracking-tight">
        <Mark />
        Tidewatch
      </p>
      <nav aria-label="Pages">
        <ul className="flex flex-col gap-0.5">
          {destinations.map(({ href, label }) => (
            <li key={href}>
              <Link
                href={href}
                aria-current={here?.href === href ? 'page' : undefined}
                {...(onNavigate !== undefined && { onClick: onNavigate })}
                className="flex items-center justify-between rounded-lg px-2.5 py-1.5 text-muted hover:text-ink aria-[current=page]:bg-soft aria-[current=page]:font-semibold aria-[current=page]:text-ink"
              >
                {label}
                {href === '/watchers' && troubled > 0 && (
                  <span className="text-xs text-stale-ink">
                    {troubled}
                    <span className="sr-only"> in trouble</span>
                  </span>
                )}
                {href === '/' && problems > 0 && (
                  <span className="text-xs text-stale-ink">
                    {problems}
                    <span className="sr-only"> {problems === 1 ? 'problem' : 'problems'}</span>
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="mt-auto pt-4">
        <OperatorButton />
      </div>
    </div>
  )
}

function Mark() {
  return (
    <svg aria-hidden viewBox="0 0 20 20" className="size-5 fill-none stroke-fresh stroke-2">
      <path d="M1 12c3-4 6-4 9 0s6 4 9 0" />
      <path d="M1 7c3-4 6-4 9 0s6 4 9 0" opacity=".45" />
    </svg>
  )
}
