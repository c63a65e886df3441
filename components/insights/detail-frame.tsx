import { ChevronLeft, X } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import type { Key } from '../../server/model/views.ts'

export interface DetailFrameProps {
  readonly insightKey: Key
  readonly onClose: () => void
  readonly frameRef: Ref<HTMLElement>
  readonly children: ReactNode
}

/** Beside the list where there is room for both, else in its place. */
export function DetailFrame({ insightKey, onClose, frameRef, children }: DetailFrameProps) {
  return (
    <section
      ref={frameRef}
      tabIndex={-1}
      aria-label={`Insight of ${insightKey.name}`}
      className="min-h-0 w-full shrink-0 overflow-y-auto rounded-xl border border-line bg-panel shadow-panel px-4 py-3.5 outline-none lg:w-[22.5rem] 2xl:w-[25rem]"
    >
      <header className="mb-2.5 flex items-start gap-2">
        <button
          type="button"
          onClick={onClose}
          className="-my-1 -ml-2 cursor-pointer rounded-md px-2 py-1 text-accent hover:bg-soft lg:hidden"
        >
          <ChevronLeft aria-hidden className="inline size-4" /> List
        </button>
        <h2 className="min-w-0 flex-1 font-semibold break-words">{insightKey.name}</h2>
        <p className="text-muted">
          {insightKey.type}
          {insightKey.mesh !== '' && ` · ${insightKey.mesh}`}
        </p>
        <button
          type="button"
          aria-label="Close detail"
          onClick={onClose}
          className="-my-0.5 -mr-1.5 hidden size-6 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-soft hover:text-ink lg:flex"
        >
          <X aria-hidden className="size-4" />
        </button>
      </header>
      <div className="live-values">{children}</div>
    </section>
  )
}
