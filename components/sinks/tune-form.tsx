'use client'

import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { ChangeRow } from '../../server/model/views.ts'
import { formatExactSpan, formatSpan } from '../format.ts'
import { useNow } from '../now.tsx'
import { Time } from '../time.tsx'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Note } from '../ui/note.tsx'
import { settingName, settingText } from './change-words.ts'
import { IntervalSlider } from './interval-slider.tsx'
import { parseSpan } from '../parse-span.ts'
import { rangeText, type SettingEdit, toCurl, toDraft, type TuneBase, type TuneDraft, tunePlanOf } from './tune-plan.ts'

/** What became of the last Apply. */
export type TuneProblem =
  | { readonly kind: 'conflict'; readonly changedBy: string | null; readonly changedAt: number | null; readonly value: string }
  | { readonly kind: 'refused'; readonly key: string; readonly message: string }
  /** Of two edits the first was applied, and the second was not. */
  | { readonly kind: 'partial'; readonly applied: string; readonly missing: string; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }

export interface TuneFormProps {
  /** As read when the form was opened: what changes elsewhere meanwhile does not move what somebody is typing. */
  readonly base: TuneBase
  /** Of this server, for the command line that does the same. */
  readonly origin: string
  readonly isSaving: boolean
  readonly problem: TuneProblem | undefined
  /** What somebody changed since the form was opened. */
  readonly elsewhere: ChangeRow | undefined
  readonly onApply: (edits: readonly SettingEdit[], intervalMs: number) => void
  readonly onReload: () => void
  readonly onCancel: () => void
}

export function TuneForm({ base: newest, origin, isSaving, problem, elsewhere, onApply, onReload, onCancel }: TuneFormProps) {
  const [base] = useState(newest)
  const [draft, setDraft] = useState(() => toDraft(base))
  const [isTried, setTried] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    field.current?.focus()
    field.current?.select()
  }, [])
  const change = (part: Partial<TuneDraft>) => setDraft({ ...draft, ...part })
  const plan = tunePlanOf(base, draft)
  const wrong = plan.kind === 'invalid' ? plan : undefined
  const refusedFor = (key: string) => (problem?.kind === 'refused' && problem.key === key ? problem.message : undefined)
  const range = base.interval.range ?? { min: 100, max: 600_000 }
  const intervalMs = parseSpan(draft.interval)

  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (plan.kind === 'edits' && !isSaving) onApply(plan.edits, plan.intervalMs)
        if (plan.kind === 'invalid') field.current?.focus()
      }}
      className="grid gap-x-6 gap-y-4 lg:grid-cols-2"
    >
      <div className="flex min-w-0 flex-col gap-3.5">
        <div>
          <Field
            ref={field}
            label="Flush interval"
            hint={`${rangeText(range)}, default ${formatExactSpan(Number(base.interval.default))}`}
            value={draft.interval}
            onChange={(event) => change({ interval: event.target.value })}
            inputMode="text"
            className="font-semibold"
            // What one is still typing is not wrong yet: only what would be refused for its size is said at once.
            error={refusedFor(base.interval.key) ?? (isTried || intervalMs !== undefined ? wrong?.interval : undefined)}
          />
          <IntervalSlider
            value={intervalMs ?? Number(base.interval.value)}
            present={Number(base.interval.value)}
            range={range}
            onChange={(ms) => change({ interval: formatExactSpan(ms) })}
          />
        </div>
        {base.backoff !== undefined && (
          <BackoffField draft={draft} intervalMs={intervalMs} error={refusedFor(base.backoff.key) ?? wrong?.backoff} onChange={change} />
        )}
        <Field
          label="Why"
          hint="shown in the history"
          value={draft.reason}
          onChange={(event) => change({ reason: event.target.value })}
          maxLength={500}
          placeholder="faster view during the rollout"
        />
        <div className="flex flex-wrap items-center gap-2">
          <Button type="submit" look="primary" disabled={isSaving || plan.kind === 'unchanged'}>
            {isSaving ? 'Applying' : 'Apply'}
          </Button>
          <Button onClick={onCancel}>Cancel</Button>
          {plan.kind === 'unchanged' && <span className="text-muted">nothing changed yet</span>}
        </div>
      </div>
      <div className="flex min-w-0 flex-col gap-3">
        {problem !== undefined && <Problem problem={problem} onReload={onReload} />}
        {problem === undefined && elsewhere !== undefined && <Elsewhere change={elsewhere} onReload={onReload} />}
        <Note tone="info">
          <b className="font-semibold">In effect at once.</b> Every due time moves with the interval; no session waits longer than one new
          interval{intervalMs !== undefined && wrong === undefined ? `, ${formatSpan(intervalMs)}` : ''}.
        </Note>
        {plan.kind === 'edits' && <CommandLine lines={plan.edits.map((edit) => toCurl(origin, edit))} />}
      </div>
    </form>
  )
}

/** Which version a form edits, and whose it is. */
export function EditedVersion({ interval: { version, modifiedBy, modifiedAt } }: TuneBase) {
  const now = useNow()
  if (modifiedAt === null) return <>you are editing the first value, nobody has changed it</>
  return (
    <>
      you are editing version {version} · {modifiedBy ?? 'somebody'} changed it {formatSpan(now - modifiedAt)} ago
    </>
  )
}

/** Said as it happens, beside a form that stays as it is: what is typed here is not lost, and would not be applied over it. */
function Elsewhere({ change: { by, at, key, to }, onReload }: { readonly change: ChangeRow; readonly onReload: () => void }) {
  return (
    <Note tone="warn" role="status">
      <p>
        <b className="font-semibold">Changed elsewhere by {by}</b> at <Time at={at} />: {settingName(key)} is {settingText(key, to)} now.
        Yours would not be applied over it.
      </p>
      <Button className="mt-2" onClick={onReload}>
        Reload
      </Button>
    </Note>
  )
}

function Problem({ problem, onReload }: { readonly problem: TuneProblem; readonly onReload: () => void }) {
  switch (problem.kind) {
    case 'conflict':
      return (
        <Note tone="bad" role="alert">
          <p>
            <b className="font-semibold">Changed elsewhere by {problem.changedBy ?? 'somebody'}</b>
            {problem.changedAt !== null && (
              <>
                {' '}
                at <Time at={problem.changedAt} />
              </>
            )}
            : it is {problem.value} now. Nothing of yours was applied over it.
          </p>
          <Button className="mt-2" onClick={onReload}>
            Reload
          </Button>
        </Note>
      )
    case 'refused':
      return null
    case 'partial':
      return (
        <Note tone="bad" role="alert">
          <p>
            <b className="font-semibold">
              {settingName(problem.applied)} was applied, {settingName(problem.missing)} was not.
            </b>{' '}
            {problem.message}
          </p>
          <Button className="mt-2" onClick={onReload}>
            Reload
          </Button>
        </Note>
      )
    case 'failed':
      return (
        <Note tone="bad" role="alert">
          <b className="font-semibold">Not applied.</b> {problem.message}
        </Note>
      )
  }
}

interface BackoffFieldProps {
  readonly draft: TuneDraft
  readonly intervalMs: number | undefined
  readonly error: string | undefined
  readonly onChange: (part: Partial<TuneDraft>) => void
}

function BackoffField({ draft, intervalMs, error, onChange }: BackoffFieldProps) {
  const id = useId()
  return (
    <fieldset>
      <legend className="mb-1 font-medium">
        Backoff <span className="text-xs font-normal text-muted">pause between two writes of one data plane</span>
      </legend>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Choice name={id} isChosen={draft.isBackoffAuto} onChoose={() => onChange({ isBackoffAuto: true })}>
          a tenth of the interval
          {draft.isBackoffAuto && intervalMs !== undefined && <span className="text-muted"> ({formatSpan(intervalMs / 10)})</span>}
        </Choice>
        <Choice name={id} isChosen={!draft.isBackoffAuto} onChoose={() => onChange({ isBackoffAuto: false })}>
          fixed
        </Choice>
      </div>
      {!draft.isBackoffAuto && (
        <div className="mt-2">
          <Field
            label="Fixed backoff"
            hint="at most the interval"
            value={draft.backoff}
            onChange={(event) => onChange({ backoff: event.target.value })}
            error={error}
          />
        </div>
      )}
    </fieldset>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly children: ReactNode
}

function Choice({ name, isChosen, onChoose, children }: ChoiceProps) {
  return (
    <label className="flex min-h-6 cursor-pointer items-center gap-2">
      <input type="radio" name={name} checked={isChosen} onChange={onChoose} className="size-4" />
      <span>{children}</span>
    </label>
  )
}

/** The command that does the same, for scripts and for who reads it aloud in an incident. */
function CommandLine({ lines }: { readonly lines: readonly string[] }) {
  return (
    <figure>
      <figcaption className="text-muted">The same from a shell</figcaption>
      <pre className="mt-1 rounded-md bg-soft px-3 py-2 wrap-anywhere whitespace-pre-wrap">
        <code>{lines.join('\n')}</code>
      </pre>
    </figure>
  )
}
