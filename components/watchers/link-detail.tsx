import { X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { LinkDetail as Detail, LinkPolicyRow, LinkRow } from '../../server/model/link-row.ts'
import { formatExactSpan, formatRate, formatSpan } from '../format.ts'
import { steadyAge } from '../insights/steady-age.ts'
import { Time } from '../time.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { BackoffBars } from './backoff-bars.tsx'
import { countsText, hostOf } from './link-words.ts'

export interface LinkDetailProps {
  readonly link: LinkRow
  /** Its log and its waits; undefined while they are read. */
  readonly detail: Detail | undefined
  readonly now: number
  /** What became of the last thing that was asked of it. */
  readonly note: ReactNode
  readonly isBusy: boolean
  readonly onRetry: () => void
  readonly onPause: (reason: string) => void
  readonly onResume: () => void
  readonly onClose: () => void
  readonly policyForm: ReactNode
}

/** One link: what is wrong and what to do about it, its backoff, what it asked and what came. */
export function LinkDetail({ link, detail, now, note, isBusy, onRetry, onPause, onResume, onClose, policyForm }: LinkDetailProps) {
  const { id, endpoint, health, state, lastError, withoutSuccessSince, policy, requests, relists, reconnects, objects, bad } = link
  const { lastEventAt, lastBookmarkAt, eventsPerSecond, eventLagMs } = link
  const [isPausing, setIsPausing] = useState(false)
  return (
    <section
      aria-label={`Link ${id}`}
      className="live-values w-full shrink-0 rounded-xl border border-line bg-panel px-4 py-3.5 shadow-panel lg:max-h-[calc(100dvh-7rem)] lg:w-[25rem] lg:overflow-y-auto"
    >
      <header className="mb-2.5 flex items-start gap-2">
        <h2 className="min-w-0 flex-1 font-semibold break-words">{id}</h2>
        <p className="min-w-0 break-words text-muted">{hostOf(endpoint)}</p>
        <button
          type="button"
          aria-label="Close detail"
          onClick={onClose}
          className="-my-0.5 -mr-1.5 flex size-6 shrink-0 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-soft hover:text-ink"
        >
          <X aria-hidden className="size-4" />
        </button>
      </header>
      {lastError !== null && withoutSuccessSince !== null && <Trouble error={lastError} />}
      <div className="mt-3 flex flex-wrap items-center gap-2">
        {state.kind === 'paused' ? (
          <Button look="primary" onClick={onResume} disabled={isBusy}>
            Resume
          </Button>
        ) : (
          <>
            <Button look={state.kind === 'waiting' ? 'primary' : 'plain'} onClick={onRetry} disabled={isBusy}>
              Retry now
            </Button>
            <Button onClick={() => setIsPausing(!isPausing)} aria-expanded={isPausing} disabled={isBusy}>
              Pause
            </Button>
          </>
        )}
        <span role="status" className="text-xs text-muted">
          {note}
        </span>
      </div>
      {isPausing && state.kind !== 'paused' && (
        <PauseForm
          onCancel={() => setIsPausing(false)}
          onPause={(reason) => {
            setIsPausing(false)
            onPause(reason)
          }}
        />
      )}
      <h3 className="mt-4 flex flex-wrap justify-between gap-x-3 font-semibold">
        Backoff <span className="font-normal text-muted">{policyText(policy)}</span>
      </h3>
      {detail !== undefined && <BackoffBars waitsMs={detail.waitsMs} attempt={state.kind === 'waiting' ? state.attempt : undefined} />}
      <dl className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        {state.kind === 'waiting' && state.until !== undefined && (
          <Fact label="this wait">
            {detail?.waitMs != null && `${formatSpan(detail.waitMs)}, `}ends <Time at={state.until} />
          </Fact>
        )}
        <Fact label="health">
          {health} since <Time at={link.healthSince} />
        </Fact>
        {withoutSuccessSince !== null && (
          <Fact label="without success">
            {formatSpan(now - withoutSuccessSince)} (unhealthy after {formatExactSpan(policy.unhealthyAfterMs.value)})
          </Fact>
        )}
        <Fact label="last event">
          <Ago at={lastEventAt} now={now} />
        </Fact>
        {link.kind === 'watch' && (
          <Fact label="last bookmark">
            <Ago at={lastBookmarkAt} now={now} />
          </Fact>
        )}
        <Fact label="events">
          {formatRate(eventsPerSecond)}
          {eventLagMs !== null && ` · lag p50 ${formatSpan(eventLagMs.p50)}, p99 ${formatSpan(eventLagMs.p99)}`}
        </Fact>
        <Fact label="requests">{countsText(requests) ?? <None />}</Fact>
        <Fact label="relists">{countsText(relists) ?? <None />}</Fact>
        <Fact label="connected again">{countsText(reconnects) ?? <None />}</Fact>
        {objects !== null && <Fact label="objects">{objects.toLocaleString('en')}</Fact>}
        {bad.count > 0 && (
          <Fact label="unreadable">
            {bad.count}
            {bad.last !== null && `, last ${bad.last.what}`}
          </Fact>
        )}
      </dl>
      <div className="mt-3">{policyForm}</div>
      {detail?.facts.map(({ title, facts }) => (
        <div key={title}>
          <h3 className="mt-4 font-semibold">{title}</h3>
          <dl className="mt-1 flex flex-col gap-1.5">
            {facts.map(({ label, value }) => (
              <div key={label}>
                <dt className="text-xs break-words text-muted">{label}</dt>
                <dd className="min-w-0 break-words">{value}</dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
      {detail !== undefined && detail.log.length > 0 && (
        <>
          <h3 className="mt-4 font-semibold">What happened</h3>
          <ol className="mt-1 flex flex-col gap-1 text-xs">
            {detail.log.toReversed().map(({ at, text }) => (
              <li key={`${at} ${text}`} className="border-t border-line pt-1 break-words">
                <Time at={at} /> <span className="text-muted">{text}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

function Trouble({ error }: { readonly error: NonNullable<LinkRow['lastError']> }) {
  const [isCopied, setIsCopied] = useState(false)
  const [lead, ...lines] = error.hint.split('\n')
  const rule = lines.join('\n').trim()
  return (
    <div className="rounded-md border-l-3 border-stale bg-stale/8 px-3 py-2">
      <p className="break-words">
        <b className="font-semibold">{error.class.replace('_', ' ')}</b> since <Time at={error.since} />.{' '}
        <span className="text-muted">{error.message}</span>
      </p>
      <p className="mt-1 break-words">{lead}</p>
      {rule !== '' && (
        <>
          <pre
            className="mt-2 max-h-80 overflow-auto rounded-md bg-panel p-2 font-mono text-xs break-words whitespace-pre-wrap"
            // Focusable, so that it scrolls by keyboard.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
            role="region"
            aria-label="What to paste"
          >
            {rule}
          </pre>
          <Button className="mt-2" onClick={() => void navigator.clipboard.writeText(rule).then(() => setIsCopied(true))}>
            <span aria-live="polite">{isCopied ? 'Copied' : 'Copy'}</span>
          </Button>
        </>
      )}
      <p className="mt-1 text-xs text-muted">It is tried again all the same: access, peers and networks come back without telling.</p>
    </div>
  )
}

function PauseForm({ onPause, onCancel }: { readonly onPause: (reason: string) => void; readonly onCancel: () => void }) {
  const [reason, setReason] = useState('')
  return (
    <form
      className="mt-2 flex flex-col gap-2 rounded-lg border border-line p-3"
      onSubmit={(event) => {
        event.preventDefault()
        onPause(reason.trim())
      }}
    >
      <Field
        label="Why"
        hint="for whoever looks at it later"
        value={reason}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
      />
      <div className="flex gap-2">
        <Button type="submit" look="primary">
          Pause it
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  )
}

function policyText({ baseBackoffMs, factor, maxBackoffMs, resetAfterMs, jitter }: LinkPolicyRow): string {
  return `${formatExactSpan(baseBackoffMs.value)} × ${factor.value} up to ${formatExactSpan(maxBackoffMs.value)}${jitter.value ? ', spread' : ''}, reset after ${formatExactSpan(resetAfterMs.value)}`
}

function Ago({ at, now }: { readonly at: number | null; readonly now: number }) {
  if (at === null) return <None />
  return (
    <>
      {steadyAge(now - at)} ago, <Time at={at} />
    </>
  )
}

function None() {
  return <span className="text-muted">none</span>
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{label}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  )
}
