import type { Clock } from '../lib/clock.ts'
import type { Part } from '../lib/supervisor.ts'
import type { Watcher } from '../kubernetes/watcher.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import type { ObservedInsights } from '../model/observed-insight.ts'
import type { Settings } from '../settings/settings.ts'
import type { Config } from './config.ts'

export interface WatchersDeps {
  readonly clock: Clock
  readonly links: Pick<LinkRegistry, 'add' | 'onChange' | 'row'>
  readonly settings: Pick<Settings, 'linkTunable'>
  readonly insights: ObservedInsights
}

/** Adds a link for each of the configured watchers; `run` keeps what they see true to whether they get through. Throws `invalid` when a context, a path or the kubeconfig is not one. */
export async function createWatchers(
  deps: WatchersDeps,
  { watchers, kubeconfig }: Pick<Config, 'watchers' | 'kubeconfig'>,
): Promise<Part | undefined> {
  if (watchers.length === 0) return undefined
  const { clock, links, settings, insights } = deps
  // The library behind them takes most of a second and 80 MB: only those who watch pay.
  const [{ loadKubeContexts }, { createNodeLeases }, { createWatcher }] = await Promise.all([
    import('../kubernetes/kube-contexts.ts'),
    import('../kubernetes/node-leases.ts'),
    import('../kubernetes/watcher.ts'),
  ])
  const contexts = loadKubeContexts(kubeconfig)
  const leases = new Map<string, ReturnType<typeof createNodeLeases>>()
  const made = new Map<string, Watcher>()
  for (const watcher of watchers) {
    const context = contexts.context(watcher.context, watcher.id)
    made.set(
      watcher.id,
      createWatcher(
        {
          clock,
          context,
          insights,
          nodeLeases: leases.getOrInsertComputed(context.name, createNodeLeases),
          serverTimeoutMs: settings.linkTunable(watcher.id, 'watch.serverTimeoutMs'),
          idleTimeoutMs: settings.linkTunable(watcher.id, 'watch.idleTimeoutMs'),
        },
        watcher,
      ),
    )
  }
  for (const { link } of made.values()) links.add(link)
  return {
    name: 'watchers',
    async run(signal) {
      links.onChange((id) => void made.get(id)?.setBlind(links.row(id)?.health !== 'healthy'), signal)
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  }
}
