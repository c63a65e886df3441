import type { ChangeRow } from '../../server/model/views.ts'
import { Time } from '../time.tsx'
import { LeadsTo } from '../ui/leads-to.tsx'
import { BlockMessage } from '../ui/block-message.tsx'
import { effectText, settingName, settingText } from './change-words.ts'

export interface ChangeListProps {
  readonly changes: readonly ChangeRow[]
  /** The name this browser's changes are written down with. */
  readonly you: string
}

/** Who changed what, why, and what came of it. */
export function ChangeList({ changes, you }: ChangeListProps) {
  if (changes.length === 0)
    return (
      <BlockMessage title="No changes yet">
        Every sink goes by its first values. What is changed here, or by a script, is listed with who and why.
      </BlockMessage>
    )
  return (
    <div className="overflow-x-auto">
      <table className="w-full">
        <caption className="sr-only">Changes, newest first</caption>
        <thead className="sr-only">
          <tr>
            {['When', 'Setting', 'Change', 'What came of it', 'By'].map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <tr key={change.changeId} className="border-line align-baseline not-first:border-t">
              <td className="py-2 pr-4 text-muted">
                <Time at={change.at} />
              </td>
              <th scope="row" className="py-2 pr-4 text-left font-semibold" title={change.key}>
                {settingName(change.key)}
              </th>
              <td className="py-2 pr-4 whitespace-nowrap">
                {settingText(change.key, change.from)}
                <LeadsTo />
                {settingText(change.key, change.to)}
              </td>
              <td className="min-w-48 py-2 pr-4 text-muted">
                {effectText(change.effect) ?? 'applied'}
                {change.reason !== null && <span className="block text-ink">“{change.reason}”</span>}
              </td>
              <td className="py-2 text-right whitespace-nowrap text-muted" title={change.by}>
                {change.by === you ? 'you' : change.by}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
