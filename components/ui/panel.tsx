import { type ReactNode, useId } from 'react'
import { classNames } from './class-names.ts'

export interface PanelProps {
  readonly title: string
  /** What is said quietly at the other end of the title's line. */
  readonly aside?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

/** A region of a page with a name of its own. */
export function Panel({ title, aside, className, children }: PanelProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className={classNames('min-w-0 rounded-xl border border-line bg-panel px-4 py-3.5 shadow-panel', className)}
    >
      <div className="mb-2.5 flex flex-wrap items-baseline justify-between gap-x-3 gap-y-1">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {aside !== undefined && <div className="text-xs text-muted">{aside}</div>}
      </div>
      {children}
    </section>
  )
}
