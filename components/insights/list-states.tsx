import { BlockMessage } from '../ui/block-message.tsx'
import { Button } from '../ui/button.tsx'
import { rowGrid, rowHeights } from './columns.ts'

/** Stands where the list will be, in its shape. */
export function ListSkeleton() {
  return (
    <div aria-busy="true" aria-label="Loading insights" role="status" className="@container overflow-hidden">
      <div className={rowHeights}>
        {Array.from({ length: 20 }, (_, index) => (
          <div key={index} className={`h-(--row-h) border-b border-line ${rowGrid}`}>
            <Bone className="w-12" />
            <Bone className="w-3/5" />
            <Bone className="w-8" />
            <Bone className="hidden w-4/5 @min-[35rem]:block" />
            <Bone className="hidden w-10 @min-[35rem]:block" />
          </div>
        ))}
      </div>
    </div>
  )
}

function Bone({ className }: { readonly className: string }) {
  return <span className={`block h-2 rounded-full bg-soft ${className}`} />
}

/** The whole page before its data: filters and list, each where it will be. */
export function PageSkeleton() {
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3">
      <div aria-hidden className="flex h-8 items-center gap-2">
        {['w-72 rounded-lg', 'w-24 rounded-full', 'w-20 rounded-full', 'w-20 rounded-full', 'w-24 rounded-full'].map((shape, index) => (
          <span key={index} className={`h-7 border border-line bg-panel ${shape}`} />
        ))}
      </div>
      <div className="min-h-0 flex-1 overflow-hidden rounded-xl border border-line bg-panel">
        <ListSkeleton />
      </div>
    </div>
  )
}

/** Says which filters leave nothing, and takes them away. */
export function NoMatch({ filters, onClear }: { readonly filters: string; readonly onClear: () => void }) {
  return (
    <BlockMessage title="No insight matches">
      <p>Filters on: {filters}.</p>
      <Button className="mt-3" onClick={onClear}>
        Clear filters
      </Button>
    </BlockMessage>
  )
}
