import type { ReactNode } from 'react'
import { Button } from './button.tsx'

export interface BlockMessageProps {
  readonly title: string
  readonly children?: ReactNode
  readonly onRetry?: () => void
}

/** What stands in a block that has nothing to show: says why, and what to do about it. */
export function BlockMessage({ title, children, onRetry }: BlockMessageProps) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-4 py-8 text-center">
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="max-w-prose text-muted">{children}</div>}
      {onRetry !== undefined && (
        <Button className="mt-2" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
