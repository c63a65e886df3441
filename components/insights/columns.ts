import type { InsightSort } from '../../server/model/views.ts'

export interface Column {
  readonly id: string
  readonly label: string
  /** Set where a click on the header sorts by it. */
  readonly sort?: { readonly by: InsightSort; readonly direction: 'ascending' | 'descending' }
  /** Where it stands, and from which width of the list on it is there at all. */
  readonly className: string
}

/**
 * Row and header share one grid. The list asks its own width, not the window's, so that it gives way when the detail opens
 * beside it: from all columns on one line down to two lines a row.
 */
export const rowGrid = [
  'grid items-center gap-x-2 px-2.5',
  'grid-cols-[5.25rem_minmax(0,1fr)_auto_auto] content-center gap-y-0.5 @min-[35rem]:gap-y-0',
  '@min-[35rem]:grid-cols-[4.75rem_minmax(6.5rem,1fr)_3.75rem_9.5rem_4.75rem]',
  '@min-[43rem]:grid-cols-[4.75rem_minmax(8rem,1fr)_3.75rem_9.5rem_4.75rem_4.25rem_3.75rem]',
  '@min-[51rem]:grid-cols-[4.75rem_minmax(8rem,1fr)_3.75rem_10rem_4.75rem_4.25rem_4.25rem_6.25rem]',
  '@min-[64rem]:grid-cols-[6rem_minmax(10rem,1.2fr)_6rem_minmax(12rem,1.4fr)_6.5rem_6rem_6rem_9rem] @min-[64rem]:gap-x-3',
].join(' ')

/** A row's height, for the grid itself and, measured, for the virtualiser. */
export const rowHeights = '[--row-h:3.5rem] @min-[35rem]:[--row-h:2rem]'

export const columns = [
  { id: 'freshness', label: 'Freshness', className: 'order-1 @min-[35rem]:order-none' },
  { id: 'subject', label: 'Subject', sort: { by: 'name', direction: 'ascending' }, className: 'order-2 @min-[35rem]:order-none' },
  { id: 'mesh', label: 'Mesh', className: 'order-5 @min-[35rem]:order-none' },
  {
    id: 'waiting',
    label: 'Waiting ÷ cadence',
    sort: { by: 'worst', direction: 'descending' },
    className: 'order-6 col-span-3 @min-[35rem]:order-none @min-[35rem]:col-span-1',
  },
  {
    id: 'lastWrite',
    label: 'Last write',
    sort: { by: 'lastWrite', direction: 'descending' },
    className: 'order-4 text-right @min-[35rem]:order-none',
  },
  {
    id: 'conflicts',
    label: 'Conflicts',
    sort: { by: 'conflicts', direction: 'descending' },
    className: 'hidden text-right @min-[43rem]:block',
  },
  { id: 'rejects', label: 'Rejects', className: 'order-3 @max-[43rem]:@min-[35rem]:hidden @min-[35rem]:order-none @min-[43rem]:pl-2' },
  { id: 'writer', label: 'Writer', className: 'hidden @min-[51rem]:block' },
] as const satisfies readonly Column[]

export type ColumnId = (typeof columns)[number]['id']
