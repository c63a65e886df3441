import type { ReactNode } from 'react'

const tones = {
  info: 'border-accent bg-accent/8',
  good: 'border-fresh bg-fresh/8',
  warn: 'border-late bg-late/8',
  bad: 'border-stale bg-stale/8',
} as const

export interface NoteProps {
  readonly tone: keyof typeof tones
  /** `alert`: said at once by a screen reader; `status`: when it pauses. */
  readonly role?: 'alert' | 'status'
  readonly children: ReactNode
}

export function Note({ tone, role, children }: NoteProps) {
  return (
    <div role={role} className={`rounded-md border-l-3 px-3 py-2 ${tones[tone]}`}>
      {children}
    </div>
  )
}
