import { OctagonAlert, TriangleAlert } from 'lucide-react'
import type { LinkHealth } from '../../server/model/link-row.ts'
import { Badge } from '../ui/badge.tsx'

/** A shape of its own for each: degraded waits for somebody, unhealthy for better times. */
export function HealthMark({ health }: { readonly health: LinkHealth }) {
  const Icon = health === 'degraded' ? OctagonAlert : TriangleAlert
  return (
    <Badge tone="bad">
      <Icon aria-hidden className="mr-1 -mt-0.5 inline size-3" />
      {health}
    </Badge>
  )
}
