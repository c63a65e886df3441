import type { InsightOrder } from '../../components/insights/insight-order.ts'
import type { InsightFilter, InsightRow } from '../../server/model/views.ts'

/** Rows the page itself carries: a tall screen and some. */
export const FIRST_ROWS = 50
/** An order up to this length comes whole with the page; of a longer one only the head does, and the browser asks for the rest. */
export const WHOLE_ORDER_UP_TO = 1000

/** What the server put into the page for the view in the URL. */
export interface FirstPage {
  /** The server's clock when it was read. */
  readonly now: number
  readonly filter: InsightFilter
  readonly head: InsightOrder
  readonly rows: readonly InsightRow[]
  /** Meshes there are, of all insights. */
  readonly meshes: readonly string[]
}
