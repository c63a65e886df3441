import type { RefusedRow } from '../../server/model/views.ts'
import { formatQuantity } from '../format.ts'
import { steadyAge } from '../insights/steady-age.ts'

/** What the other control plane does not take, resource by resource, in its own words. */
export function RefusedResources({ refused, now }: { readonly refused: readonly RefusedRow[]; readonly now: number }) {
  return (
    <ul className="mt-2 flex flex-col gap-2">
      {refused.map(({ type, name, reason, since, times, oneOf, kind }) => (
        <li key={`${type} ${name}`} className="border-l-2 border-stale pl-2.5 text-xs">
          <p className="break-words">
            <b className="font-semibold text-stale-ink">{type}</b> {displayName(name)}
            <span className="text-muted">
              {' · '}
              {kind === 'poison'
                ? 'held back: it ended the connection'
                : oneOf > 1
                  ? `one of ${oneOf} that were refused together`
                  : 'refused'}{' '}
              for {steadyAge(now - since)}
              {times > 1 && `, ${formatQuantity(times, 'time')}`}
            </span>
          </p>
          <p className="mt-0.5">
            <q className="break-words">{reason}</q>
          </p>
          {kind === 'poison' && <p className="mt-0.5 text-muted">It is sent again when its content changes, or when you resync.</p>}
        </li>
      ))}
    </ul>
  )
}

/** As it crosses: `<name>.<mesh>`, without the dot where there is no mesh. */
function displayName(name: string): string {
  return name.replace(/\.$/, '')
}
