'use client'

import Link from 'next/link'
import { useNow } from '../../components/now.tsx'
import { RemoteZoneDetail } from '../../components/streams/remote-zone-detail.tsx'
import { RemoteZonePanel } from '../../components/streams/remote-zone-panel.tsx'
import { remoteZoneId } from '../../components/streams/remote-zones.ts'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Button } from '../../components/ui/button.tsx'
import type { RemoteZoneRow } from '../../server/model/remote-zone.ts'
import { insightsHref } from '../insights/insights-href.ts'

export interface RemoteZonesProps {
  readonly zones: readonly RemoteZoneRow[]
  /** Of the zone that is open, as `remoteZoneId` has it. */
  readonly selected: string | null
  readonly onSelect: (id: string | null) => void
}

/** Zones of attached control planes, and the one that is open below them; when it is no longer told of, that is said. */
export function RemoteZones({ zones, selected, onSelect }: RemoteZonesProps) {
  const open = zones.find((zone) => remoteZoneId(zone) === selected)
  return (
    <>
      {zones.length > 0 && <RemoteZonePanel zones={zones} selected={selected} onSelect={(id) => onSelect(id === selected ? null : id)} />}
      {open !== undefined && <OpenRemoteZone zone={open} onClose={() => onSelect(null)} />}
      {open === undefined && selected !== null && (
        <section aria-label={`Zone ${selected}`} className="rounded-xl border border-line bg-panel shadow-panel">
          <BlockMessage title={`Zone ${selected} is not told of`}>
            No attached control plane lists it now; it shows here when one does. <Button onClick={() => onSelect(null)}>Close</Button>
          </BlockMessage>
        </section>
      )}
    </>
  )
}

/** Apart, so that the ticking of its ages draws nothing else. */
function OpenRemoteZone({ zone, onClose }: { readonly zone: RemoteZoneRow; readonly onClose: () => void }) {
  const { source } = zone
  const key = { type: 'ZoneInsight', mesh: '', name: remoteZoneId(zone) }
  return (
    <RemoteZoneDetail
      zone={zone}
      now={useNow()}
      sourceLink={
        <Link href={`/watchers?link=${encodeURIComponent(source)}`} className="text-accent hover:underline">
          {source}
        </Link>
      }
      insightLink={
        <Link href={insightsHref({ key })} className="text-accent hover:underline">
          how fresh its status is
        </Link>
      }
      onClose={onClose}
    />
  )
}
