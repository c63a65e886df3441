/** Stands where lines of text will be, in their shape. */
export function Skeleton({ lines, label }: { readonly lines: number; readonly label: string }) {
  return (
    <div role="status" aria-label={`Loading ${label}`} className="flex flex-col gap-3 py-1">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} className={`block h-2.5 rounded-full bg-soft ${widths[index % widths.length]}`} />
      ))}
    </div>
  )
}

const widths = ['w-4/5', 'w-3/5', 'w-2/3', 'w-1/2', 'w-3/4']
