import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Subscription } from '../../server/model/insight.ts'
import type { SessionRow, SessionTypeRow } from '../../server/model/views.ts'
import { formatCount, formatQuantity, formatSpan } from '../format.ts'
import { steadyAge } from '../insights/steady-age.ts'
import { Time } from '../time.tsx'
import { Button } from '../ui/button.tsx'
import { StatusShape } from './type-mark.tsx'

export interface StreamDetailProps {
  readonly session: SessionRow
  readonly now: number
  /** As the store has them, this stream's included; undefined while they are read. */
  readonly subscriptions: readonly Subscription[] | undefined
  readonly insightLink: ReactNode
  /** What became of the last resync. */
  readonly note: ReactNode
  readonly isResyncing: boolean
  readonly onResync: (type?: string) => void
  readonly onClose: () => void
}

/** One stream: what was sent and how it was answered, type by type, and what its peer refuses, in its own words. */
export function StreamDetail({ session, now, subscriptions, insightLink, note, isResyncing, onResync, onClose }: StreamDetailProps) {
  const { subject, variant, agent, peer, connectedAt, types } = session
  return (
    <section
      aria-label={`Stream of ${subject.name}`}
      className="live-values w-full shrink-0 overflow-y-auto rounded-xl border border-line bg-panel px-4 py-3.5 shadow-panel lg:max-h-[calc(100dvh-9.5rem)] lg:w-[25rem]"
    >
      <header className="mb-2.5 flex items-start gap-2">
        <h2 className="min-w-0 flex-1 font-semibold break-words">{subject.name}</h2>
        <p className="text-muted">{subject.mesh}</p>
        <button
          type="button"
          aria-label="Close detail"
          onClick={onClose}
          className="-my-0.5 -mr-1.5 flex size-6 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-soft hover:text-ink"
        >
          <X aria-hidden className="size-4" />
        </button>
      </header>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <Fact label="connected">
          since <Time at={connectedAt} />, {variant === 'delta' ? 'delta' : 'state of the world'}
        </Fact>
        <Fact label="peer">{agent === null ? peer : `${agent}, ${peer}`}</Fact>
        <Fact label="insight">{insightLink}</Fact>
      </dl>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <Button onClick={() => onResync()} disabled={isResyncing}>
          Resync now
        </Button>
        <span role="status" className="text-xs text-muted">
          {note}
        </span>
      </div>
      <ul className="mt-3 flex flex-col gap-2">
        {types.map((type) => (
          <TypeItem key={type.type} type={type} now={now} isResyncing={isResyncing} onResync={() => onResync(type.type)} />
        ))}
      </ul>
      {types.length === 0 && <p className="mt-3 text-muted">It has asked for nothing yet.</p>}
      <h3 className="mt-4 font-semibold">Subscriptions</h3>
      <History subscriptions={subscriptions} now={now} />
    </section>
  )
}

interface TypeItemProps {
  readonly type: SessionTypeRow
  readonly now: number
  readonly isResyncing: boolean
  /** Undefined where it is not ours to send. */
  readonly onResync: (() => void) | undefined
}

export function TypeItem({ type, now, isResyncing, onResync }: TypeItemProps) {
  const { rejection, recovered } = type
  return (
    <li className="rounded-lg border border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="inline-flex items-center gap-1.5 font-semibold">
          <StatusShape status={type.status} />
          {type.type}
        </span>
        <span className="text-xs text-muted">
          sent {formatCount(type.sent)} · ACK {formatCount(type.acked)} · NACK {formatCount(type.nacked)} · {steadyAge(now - type.lastAt)}{' '}
          ago
        </span>
        {onResync !== undefined && (
          <button
            type="button"
            aria-label={`Resync ${type.type} now`}
            disabled={isResyncing}
            onClick={onResync}
            className="ml-auto cursor-pointer text-xs text-accent hover:underline disabled:opacity-50"
          >
            resync
          </button>
        )}
      </div>
      {rejection !== null && (
        <div className="mt-1.5 border-l-2 border-stale pl-2.5 text-xs">
          <p>
            <b className="font-semibold text-stale-ink">Persistent</b>, refused for {steadyAge(now - rejection.since)}
            {rejection.times !== undefined && rejection.times > 1 && `, ${formatQuantity(rejection.times, 'time')}`}:{' '}
            <q className="break-words">{rejection.reason}</q>
          </p>
          {rejection.resources !== undefined && rejection.resources.length > 0 && (
            <p className="mt-1 text-muted">
              May be about {rejection.resources.slice(0, 8).join(', ')}
              {rejection.resources.length > 8 && ` and ${rejection.resources.length - 8} more`}.
            </p>
          )}
        </div>
      )}
      {rejection === null && recovered !== null && (
        <p className="mt-1.5 border-l-2 border-line pl-2.5 text-xs text-muted">
          Transient: refused for {formatSpan(recovered.until - recovered.since)} until {steadyAge(now - recovered.until)} ago:{' '}
          <q className="break-words">{recovered.reason}</q>
        </p>
      )}
    </li>
  )
}

export function History({ subscriptions, now }: Pick<StreamDetailProps, 'subscriptions' | 'now'>) {
  if (subscriptions === undefined) return <p className="mt-1 text-muted">Reading the store…</p>
  if (subscriptions.length === 0) return <p className="mt-1 text-muted">None is stored yet.</p>
  return (
    <ol className="mt-1 flex flex-col gap-1 text-xs">
      {subscriptions.toReversed().map(({ id, connectedAt, disconnectedAt, variant, types, direction }) => (
        <li key={id} className="flex flex-wrap gap-x-2 border-t border-line pt-1">
          <Time at={connectedAt} />
          <span className="text-muted">
            {direction === undefined ? variant : direction === 'down' ? 'to the zone' : 'from the zone'},{' '}
            {disconnectedAt === undefined
              ? `open for ${steadyAge(now - connectedAt)}`
              : `lasted ${formatSpan(disconnectedAt - connectedAt)}`}
            ,{' '}
            {formatQuantity(
              Object.values(types).reduce((sum, { nacked }) => sum + nacked, 0),
              'NACK',
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}

export function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{label}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  )
}
