import { steadyAge } from '../insights/steady-age.ts'
import { useNow } from '../now.tsx'
import { Panel } from '../ui/panel.tsx'
import { StatusShape, TypeMark } from './type-mark.tsx'
import { matrixTypes, type ZoneStreams } from './zones.ts'

export interface ZonePanelProps {
  readonly zones: readonly ZoneStreams[]
  readonly selected: string | null
  readonly onSelect: (zone: string) => void
}

const shapes = { synced: 'synced', pending: 'pending', rejecting: 'rejected' } as const
const words = { synced: 'in sync', pending: 'waits for an answer', rejecting: 'rejects' } as const

/** Zones beside data planes: who is connected, and type by type what each was sent and took, down and up. */
export function ZonePanel({ zones, selected, onSelect }: ZonePanelProps) {
  const now = useNow()
  const down = matrixTypes(zones, 'down')
  const up = matrixTypes(zones, 'up')
  return (
    <Panel title={zones.length === 1 ? '1 zone' : `${zones.length} zones`} className="live-values" aside="to the zone, then from it">
      {/* Focusable, so that it scrolls by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label="Zones by type">
        <table className="w-full text-left">
          <thead className="text-xs text-muted">
            <tr>
              <th scope="col" className="py-1 pr-4 font-normal">
                Zone
              </th>
              <th scope="col" className="py-1 pr-4 font-normal">
                State
              </th>
              {down.map((type) => (
                <th key={type} scope="col" className="py-1 pr-4 font-normal whitespace-nowrap">
                  {type}
                </th>
              ))}
              {up.map((type) => (
                <th key={type} scope="col" className="py-1 pr-4 font-normal whitespace-nowrap">
                  <span className="text-muted">from:</span> {type}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {zones.map((zone) => (
              <tr key={zone.name} className={`border-t border-line ${zone.name === selected ? 'bg-soft' : 'hover:bg-soft/60'}`}>
                <th scope="row" className="py-1.5 pr-4 font-normal">
                  <button
                    type="button"
                    aria-pressed={zone.name === selected}
                    onClick={() => onSelect(zone.name)}
                    className="cursor-pointer font-semibold hover:underline"
                  >
                    {zone.name}
                  </button>
                </th>
                <td className="py-1.5 pr-4 text-xs whitespace-nowrap">
                  <span className="inline-flex items-center gap-1.5">
                    <StatusShape status={shapes[zone.state]} />
                    {zone.down === undefined || zone.up === undefined ? 'half connected' : words[zone.state]}
                  </span>
                </td>
                {[...down.map((type) => ['down', type] as const), ...up.map((type) => ['up', type] as const)].map(([direction, wanted]) => {
                  const type = zone[direction]?.types.find((each) => each.type === wanted)
                  return (
                    <td key={`${direction} ${wanted}`} className="py-1.5 pr-4 text-xs" title={type?.error ?? undefined}>
                      {type === undefined ? (
                        <span className="text-muted">–</span>
                      ) : (
                        <TypeMark type={type} age={steadyAge(now - type.lastAt)} />
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
