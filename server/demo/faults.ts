import type { Clock } from '../lib/clock.ts'
import type { DemoFault } from '../model/views.ts'
import { ENDPOINT, LISTENER } from './ads-protocol.ts'
import type { Rejection } from './conversation.ts'
import type { DataPlane } from './data-plane.ts'

/** What can be broken on purpose, and what always is a little broken. */
export interface Faults {
  list(): readonly DemoFault[]
  /** False when there is no such switch. */
  set(name: string, active: boolean): boolean
  /** The fleet's everyday life (a few that reject, a few that flap, some that leave and come back) until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export interface FaultDeps {
  readonly clock: Clock
  readonly random: () => number
  readonly fleet: readonly DataPlane[]
  /** Somebody should be told: a switch moved, by hand or by itself. */
  readonly onChange: () => void
}

const ALWAYS_REJECTING = 3
const FLAPPING = 4
const WAVE_SHARE = 0.3
const RECONNECT_WINDOW_MS = 1_500
const RECONNECT_SHOWN_MS = 5_000
const LEAVE_EVERY_MS = 4_000
const CHATTER_EVERY_MS = 400

const standing: Rejection = { typeUrl: LISTENER, reason: 'simulated: error adding listener inbound: filter chain match is not unique' }
const wave: Rejection = { typeUrl: ENDPOINT, reason: 'simulated: endpoint priority must be contiguous' }

export function createFaults({ clock, random, fleet, onChange }: FaultDeps): Faults {
  const active = new Set<string>()
  let chattering: AbortController | undefined
  const rejecting = fleet.filter((_, index) => index % Math.ceil(fleet.length / ALWAYS_REJECTING) === 1)
  const flapping = fleet.filter((_, index) => index % Math.ceil(fleet.length / FLAPPING) === 2)
  const waving = fleet.filter((dataPlane, index) => index % 10 < WAVE_SHARE * 10 && !rejecting.includes(dataPlane))
  for (const dataPlane of rejecting) dataPlane.rejectWith(standing)

  const switches: Readonly<Record<string, { label: string; description: string; apply: (on: boolean) => void }>> = {
    'nack-wave': {
      label: 'NACK wave',
      description: `${waving.length} data planes refuse the endpoints they are sent, until it is switched off.`,
      apply(on) {
        for (const dataPlane of waving) {
          dataPlane.rejectWith(on ? wave : undefined)
          dataPlane.chatter()
        }
      },
    },
    'conflict-storm': {
      label: 'Conflict storm',
      description:
        'Every stream is busy, the sink flushes five times a second and certificates are renewed every second or two: dataplane-sink and identity meet on the same insights.',
      apply(on) {
        chattering?.abort()
        chattering = on ? new AbortController() : undefined
        if (chattering !== undefined) void chat(chattering.signal)
      },
    },
    'mass-reconnect': {
      label: 'Mass reconnect',
      description: `All ${fleet.length} data planes drop their streams at once and come back within ${RECONNECT_WINDOW_MS / 1000} s. Switches itself off.`,
      apply(on) {
        if (!on) return
        for (const dataPlane of fleet) dataPlane.drop(Math.max(1, random() * RECONNECT_WINDOW_MS))
        clock.at(clock.monotonic() + RECONNECT_SHOWN_MS, () => set('mass-reconnect', false))
      },
    },
  }

  return { list, set, run }

  function list(): readonly DemoFault[] {
    return Object.entries(switches).map(([name, { label, description }]) => ({ name, label, description, active: active.has(name) }))
  }

  function set(name: string, on: boolean): boolean {
    const fault = switches[name]
    if (fault === undefined) return false
    if (active.has(name) !== on) {
      if (on) active.add(name)
      else active.delete(name)
      fault.apply(on)
      onChange()
    }
    return true
  }

  async function run(signal: AbortSignal): Promise<void> {
    const life = [...flapping.map((dataPlane) => flap(dataPlane, signal)), churn(signal)]
    await Promise.allSettled(life)
  }

  async function flap(dataPlane: DataPlane, signal: AbortSignal) {
    for (;;) {
      await clock.sleep(15_000 + random() * 30_000, signal)
      dataPlane.drop(500 + random() * 4_000)
    }
  }

  /** Spread over the time, so that no two of them are in step. */
  async function chat(signal: AbortSignal) {
    const parts = 20
    for (let part = 0; !signal.aborted; part = (part + 1) % parts) {
      for (const [index, dataPlane] of fleet.entries()) if (index % parts === part) dataPlane.chatter()
      await clock.sleep(CHATTER_EVERY_MS / parts, signal).catch(() => undefined)
    }
  }

  /** One leaves for long enough to be deregistered, so that the endpoints of its service change for everybody. */
  async function churn(signal: AbortSignal) {
    for (;;) {
      await clock.sleep(LEAVE_EVERY_MS * (0.5 + random()), signal)
      fleet[Math.floor(random() * fleet.length)]?.drop(12_000 + random() * 25_000)
    }
  }
}
