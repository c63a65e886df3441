import type { RemoteZoneRow } from '../../server/model/remote-zone.ts'
import { formatCount, formatQuantity } from '../format.ts'
import { Time } from '../time.tsx'
import { Panel } from '../ui/panel.tsx'
import { remoteZoneId, remoteZoneState } from './remote-zones.ts'

export interface RemoteZonePanelProps {
  readonly zones: readonly RemoteZoneRow[]
  /** Of the zone that is open, as `remoteZoneId` has it. */
  readonly selected: string | null
  readonly onSelect: (id: string) => void
}

const FLUSH = 'xdsServer.dataplaneStatusFlushInterval'
const columns = [
  'Zone',
  'Seen through',
  'State',
  'Since',
  'Runs',
  'Connections',
  'Sent',
  'ACK',
  'NACK',
  'Data planes',
  'Writes status every',
] as const

/** Zones of attached control planes and their subscriptions, as those tell them: nothing here is ours to send again. */
export function RemoteZonePanel({ zones, selected, onSelect }: RemoteZonePanelProps) {
  return (
    <Panel title={formatQuantity(zones.length, 'remote zone')} className="live-values" aside="read-only, as their control plane tells it">
      {/* Focusable, so that it scrolls by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label="Remote zones">
        <table className="w-full text-left">
          <thead className="text-xs text-muted">
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col" className="py-1 pr-4 font-normal whitespace-nowrap">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {zones.map((zone) => {
              const id = remoteZoneId(zone)
              return <RemoteZone key={id} zone={zone} isSelected={id === selected} onSelect={() => onSelect(id)} />
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

interface RemoteZoneProps {
  readonly zone: RemoteZoneRow
  readonly isSelected: boolean
  readonly onSelect: () => void
}

function RemoteZone({ zone, isSelected, onSelect }: RemoteZoneProps) {
  const { source, name, online, connectedAt, offlineSince, agent, subscriptions, dataplanes, settings } = zone
  const types = Object.values(subscriptions.at(-1)?.types ?? {})
  const since = online ? connectedAt : offlineSince
  const flush = settings.find(({ path }) => path === FLUSH)
  const sum = (field: 'sent' | 'acked' | 'nacked') => formatCount(types.reduce((total, type) => total + type[field], 0))
  const cell = 'py-1.5 pr-4 whitespace-nowrap'
  return (
    <tr className={`border-t border-line ${isSelected ? 'bg-soft' : 'hover:bg-soft/60'}`}>
      <th scope="row" className={`${cell} font-normal`}>
        <button type="button" aria-pressed={isSelected} onClick={onSelect} className="cursor-pointer font-semibold hover:underline">
          {name}
        </button>{' '}
        <span className="rounded bg-soft px-1.5 py-0.5 text-xs text-muted">remote</span>
      </th>
      <td className={cell}>{source}</td>
      <td className={cell}>{remoteZoneState(zone)}</td>
      <td className={cell}>{since === null ? '–' : <Time at={since} />}</td>
      <td className={cell}>{agent ?? <span className="text-muted">unknown</span>}</td>
      <td className={cell}>{subscriptions.length}</td>
      <td className={cell}>{sum('sent')}</td>
      <td className={cell}>{sum('acked')}</td>
      <td className={cell}>{sum('nacked')}</td>
      <td className={cell}>
        {formatCount(dataplanes.online)} of {formatCount(dataplanes.total)} online
      </td>
      <td className={cell}>{flush?.value ?? <span className="text-muted">unknown</span>}</td>
    </tr>
  )
}
