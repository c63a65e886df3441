import type { Rejection, Subscription, TypeStatus } from '../../server/model/insight.ts'
import { formatCount, formatSpan } from '../format.ts'
import { steadyAge } from './steady-age.ts'

/** What was sent of each type and how it was answered; a type that is rejected now says why, under its row. */
export function SubscriptionTable({ subscription, now }: { readonly subscription: Subscription; readonly now: number }) {
  const types = Object.entries(subscription.types).toSorted(([a], [b]) => a.localeCompare(b))
  if (types.length === 0) return <p className="text-muted">It has asked for nothing yet.</p>
  return (
    <table className="w-full">
      <caption className="sr-only">Responses by resource type</caption>
      <thead className="text-xs text-muted">
        <tr>
          <th scope="col" className="px-1.5 py-1 text-left font-normal">
            Subscription
          </th>
          {['sent', 'ACK', 'NACK', 'last'].map((label) => (
            <th key={label} scope="col" className="px-1.5 py-1 text-right font-normal">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {types.map(([type, status]) => (
          <TypeRows key={type} type={type} status={status} now={now} />
        ))}
      </tbody>
    </table>
  )
}

function TypeRows({ type, status, now }: { readonly type: string; readonly status: TypeStatus; readonly now: number }) {
  const { rejection, recovered } = status
  return (
    <>
      <tr className="border-t border-line">
        <th scope="row" className={`px-1.5 py-1 text-left ${rejection === undefined ? 'font-normal' : 'font-semibold text-stale-ink'}`}>
          {type}
        </th>
        <td className="px-1.5 py-1 text-right">{formatCount(status.sent)}</td>
        <td className="px-1.5 py-1 text-right">{formatCount(status.acked)}</td>
        <td className={`px-1.5 py-1 text-right ${rejection === undefined ? '' : 'font-semibold text-stale-ink'}`}>
          {formatCount(status.nacked)}
        </td>
        <td className="px-1.5 py-1 text-right">{status.lastAt === 0 ? '–' : steadyAge(now - status.lastAt)}</td>
      </tr>
      {rejection !== undefined && (
        <Note tone="bg-stale/7" lead={`Rejected for ${steadyAge(now - rejection.since)}${times(rejection)}: `} rejection={rejection} />
      )}
      {rejection === undefined && recovered !== undefined && (
        <Note
          tone="bg-soft"
          lead={`Rejected until ${steadyAge(now - recovered.until)} ago, for ${formatSpan(recovered.until - recovered.since)}${times(recovered)}: `}
          rejection={recovered}
        />
      )}
    </>
  )
}

function Note({
  tone,
  lead,
  rejection: { reason, resources = [] },
}: {
  readonly tone: string
  readonly lead: string
  readonly rejection: Rejection
}) {
  return (
    <tr>
      <td colSpan={5} className="px-1.5 pb-2">
        <p className={`rounded-md px-2 py-1.5 ${tone}`}>
          <span className="text-muted">{lead}</span>
          <span className="break-words">{reason}</span>
          {resources.length > 0 && <span className="text-muted"> ({resources.join(', ')})</span>}
        </p>
      </td>
    </tr>
  )
}

function times({ times: count = 1 }: Rejection): string {
  return count === 1 ? '' : `, ${count} times`
}
