import type { Clock } from '../lib/clock.ts'
import type { Part } from '../lib/supervisor.ts'
import { type AttachedKuma, createAttachedKuma } from '../kuma-api/attached-kuma.ts'
import { createKumaClient } from '../kuma-api/kuma-client.ts'
import type { Attention } from '../link/attention.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import type { ObservedInsights } from '../model/observed-insight.ts'
import type { RemoteZoneRow } from '../model/remote-zone.ts'
import type { Config } from './config.ts'

export interface KumaLinksDeps {
  readonly clock: Clock
  readonly links: Pick<LinkRegistry, 'add' | 'onChange' | 'row'>
  readonly insights: ObservedInsights
  readonly attention: Attention
}

/** Control planes of others that are attached, read-only. */
export interface KumaLinks {
  readonly part: Part
  /** Of all of them, by link, then by name. */
  zones(): readonly RemoteZoneRow[]
}

/** Adds a link for each of the configured control planes; `part` keeps what is seen of them true to whether they get through. */
export function createKumaLinks({ clock, links, insights, attention }: KumaLinksDeps, { kuma }: Pick<Config, 'kuma'>): KumaLinks {
  const attached = new Map<string, AttachedKuma>()
  for (const config of kuma) {
    const made = createAttachedKuma({ clock, client: createKumaClient(config, clock), insights, attention }, config)
    links.add(made.link)
    attached.set(config.id, made)
  }
  return {
    zones: () => [...attached.values()].flatMap((each) => each.zones()),
    part: {
      name: 'attached control planes',
      async run(signal) {
        links.onChange((id) => attached.get(id)?.setBlind(links.row(id)?.health !== 'healthy'), signal)
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      },
    },
  }
}
