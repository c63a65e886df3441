import { type FormEvent, useState } from 'react'
import type { LinkPolicyRow } from '../../server/model/link-row.ts'
import type { SettingRow } from '../../server/model/views.ts'
import { formatExactSpan } from '../format.ts'
import { parseSpan } from '../parse-span.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'

/** One edit of a setting, under the version it was read at. */
export interface PolicyEdit {
  readonly key: string
  readonly value: number
  readonly expectedVersion: string
}

export interface PolicyFormProps {
  readonly linkId: string
  readonly policy: LinkPolicyRow
  /** As they were read when the form was opened: what others change meanwhile meets the version on save. */
  readonly settings: readonly SettingRow[]
  readonly isSaving: boolean
  readonly problem: string | null
  readonly onApply: (edits: readonly PolicyEdit[]) => void
  readonly onCancel: () => void
}

const fields = [
  { name: 'baseBackoffMs', label: 'First wait', isSpan: true },
  { name: 'factor', label: 'Each further wait times', isSpan: false },
  { name: 'maxBackoffMs', label: 'Longest wait', isSpan: true },
  { name: 'resetAfterMs', label: 'Begin anew after so long live', isSpan: true },
  { name: 'unhealthyAfterMs', label: 'Unhealthy after so long without success', isSpan: true },
] as const

/** The backoff of this link alone, or of all that have none of their own. A change counts at once, for a wait that is under way, too. */
export function PolicyForm({ linkId, policy, settings, isSaving, problem, onApply, onCancel }: PolicyFormProps) {
  const [isForAll, setIsForAll] = useState(false)
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(fields.map(({ name, isSpan }) => [name, isSpan ? formatExactSpan(policy[name].value) : String(policy[name].value)])),
  )
  const values = fields.map(({ name, isSpan }) => ({ name, value: isSpan ? parseSpan(drafts[name] ?? '') : Number(drafts[name]) }))
  const isValid = values.every(({ value }) => value !== undefined && Number.isFinite(value))

  function apply(event: FormEvent) {
    event.preventDefault()
    const edits = values.flatMap(({ name, value }): PolicyEdit[] => {
      if (value === undefined || value === policy[name].value) return []
      const key = isForAll ? `link.${name}` : `link.${linkId}.${name}`
      return [{ key, value, expectedVersion: settings.find((row) => row.key === key)?.version ?? '0' }]
    })
    onApply(inSafeOrder(edits, policy))
  }

  return (
    <form onSubmit={apply} aria-label="Backoff policy" className="flex flex-col gap-2.5 rounded-lg border border-line p-3">
      <fieldset className="flex flex-wrap gap-x-4">
        <legend className="sr-only">For whom</legend>
        {[false, true].map((all) => (
          <label key={String(all)} className="flex min-h-6 items-center gap-1.5">
            <input type="radio" name="scope" checked={isForAll === all} onChange={() => setIsForAll(all)} />
            {all ? 'all links' : 'this link alone'}
          </label>
        ))}
      </fieldset>
      {fields.map(({ name, label, isSpan }) => (
        <Field
          key={name}
          label={label}
          hint={policy[name].overridden ? 'its own' : 'as all links'}
          value={drafts[name] ?? ''}
          error={isSpan && parseSpan(drafts[name] ?? '') === undefined ? 'A time is needed, like 4 s, 500 ms or 2 min.' : undefined}
          onChange={({ target }) => setDrafts({ ...drafts, [name]: target.value })}
        />
      ))}
      {problem !== null && (
        <p role="alert" className="text-stale-ink">
          {problem}
        </p>
      )}
      <div className="flex gap-2">
        <Button type="submit" look="primary" disabled={!isValid || isSaving}>
          Apply
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  )
}

/** At no moment may the longest wait pass the threshold, nor the first the longest: what makes room goes first. */
function inSafeOrder(edits: readonly PolicyEdit[], policy: LinkPolicyRow): readonly PolicyEdit[] {
  const grows = (edit: PolicyEdit, name: 'unhealthyAfterMs' | 'maxBackoffMs') =>
    edit.key.endsWith(`.${name}`) && edit.value > policy[name].value
  const rank = (edit: PolicyEdit) => {
    if (grows(edit, 'unhealthyAfterMs')) return 0
    if (grows(edit, 'maxBackoffMs')) return 1
    if (edit.key.endsWith('.unhealthyAfterMs')) return 5
    return edit.key.endsWith('.maxBackoffMs') ? 4 : 2
  }
  return edits.toSorted((a, b) => rank(a) - rank(b))
}
