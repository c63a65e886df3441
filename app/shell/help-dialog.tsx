'use client'

import { Dialog } from '../../components/ui/dialog.tsx'
import { destinations } from './destinations.ts'
import type { DialogState } from './lazy-dialogs.tsx'

const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
  ...destinations.map(({ chord, label }) => [['g', chord], `go to ${label}`] as const),
  [['Ctrl', 'K'], 'search and commands (Cmd K on a Mac)'],
  [['/'], 'filter the list of insights, or of streams'],
  [['Up', 'Down'], 'move in the list, Enter opens, Escape closes'],
  [['?'], 'this help'],
]

export function HelpDialog({ isOpen, onOpenChange }: DialogState) {
  return (
    <Dialog isOpen={isOpen} onOpenChange={onOpenChange} title="Keyboard">
      <dl className="grid grid-cols-[7rem_1fr] items-center gap-y-2">
        {keys.map(([names, what]) => (
          <div key={what} className="contents">
            <dt className="flex gap-1">
              {names.map((name) => (
                <kbd key={name} className="rounded-sm border border-control px-1.5">
                  {name}
                </kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h3 className="mt-5 mb-1 font-semibold">Freshness</h3>
      <p className="text-muted">
        An insight is judged by the oldest change that waits to be stored, against its sink&apos;s interval, and by its heartbeat, against
        the heartbeat&apos;s cadence. The worse of the two counts: up to 1.5 times its cadence it is fresh, up to 3 late, above stale.
      </p>
    </Dialog>
  )
}
