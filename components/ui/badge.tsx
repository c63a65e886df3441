import type { ReactNode } from 'react'

const tones = {
  good: 'bg-fresh/13 text-fresh-ink',
  warn: 'bg-late/16 text-late-ink',
  bad: 'bg-stale/14 text-stale-ink',
  quiet: 'bg-soft text-muted',
  info: 'bg-accent/14 text-ink',
} as const

export function Badge({ tone, children }: { readonly tone: keyof typeof tones; readonly children: ReactNode }) {
  return <span className={`inline-block rounded-md px-2 py-0.5 text-xs font-semibold whitespace-nowrap ${tones[tone]}`}>{children}</span>
}
