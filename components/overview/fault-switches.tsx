'use client'

import { useId } from 'react'
import type { DemoFault } from '../../server/model/views.ts'
import { Badge } from '../ui/badge.tsx'
import { Panel } from '../ui/panel.tsx'
import { Switch } from '../ui/switch.tsx'

export interface FaultSwitchesProps {
  readonly faults: readonly DemoFault[]
  /** The switch that is being moved now. */
  readonly moving: string | undefined
  readonly problem: string | undefined
  readonly onSet: (name: string, active: boolean) => void
}

/** What can be broken on purpose. Only where the data planes are simulated, and it says so. */
export function FaultSwitches({ faults, moving, problem, onSet }: FaultSwitchesProps) {
  const id = useId()
  return (
    <Panel title="Simulated fleet" aside={<Badge tone="info">demo</Badge>}>
      <p className="text-muted">
        Data planes, zones and Kubernetes API servers here are simulated, each by a process of its own, over real gRPC and HTTP. Break
        something and watch what the page makes of it.
      </p>
      <ul className="mt-2">
        {faults.map(({ name, label, description, active }) => (
          <li key={name} className="flex items-center gap-3 border-t border-line py-2">
            <div className="min-w-0 flex-1">
              <label htmlFor={`${id}-${name}`} className="cursor-pointer font-medium">
                {label}
              </label>
              <p id={`${id}-${name}-what`} className="text-xs text-muted">
                {description}
              </p>
            </div>
            <Switch
              id={`${id}-${name}`}
              isOn={active}
              isDisabled={moving !== undefined}
              onChange={(isOn) => onSet(name, isOn)}
              describedBy={`${id}-${name}-what`}
            />
          </li>
        ))}
      </ul>
      {problem !== undefined && (
        <p role="alert" className="text-stale-ink">
          {problem}
        </p>
      )}
    </Panel>
  )
}
