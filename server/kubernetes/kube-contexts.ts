import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type AgentOptions, type RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { CoreError } from '../lib/errors.ts'
import { LinkFailure } from '../link/link-failure.ts'

/** The contexts of a kubeconfig: where clusters are, and who we are there. */
export interface KubeContexts {
  /** Undefined: the current one. Throws `invalid` naming the contexts there are, and `who` asked. */
  context(name: string | undefined, who?: string): KubeContext
}

export interface KubeContext {
  readonly name: string
  /** Without a slash at its end. */
  readonly server: string
  /** What a request needs: TLS, headers, a kept connection. Rejects with a LinkFailure when credentials cannot be had (a plugin fails). */
  credentials(): Promise<Credentials>
  /** Reads everything anew, files and plugins too, unless that was done since `used` were given out. */
  refresh(used: Credentials): void
}
export interface Credentials {
  readonly generation: number
  readonly options: RequestOptions
}

/** An idle connection is given up after so long. */
const IDLE_CONNECTION_MS = 30_000

/** `path`: a kubeconfig file; undefined: KUBECONFIG, ~/.kube/config, or the pod we run in. Throws `invalid` when it cannot be read or none is there. */
export function loadKubeContexts(path: string | undefined): KubeContexts {
  const known = new Map<string, KubeContext>()
  const first = load(path)
  const names = first.getContexts().map(({ name }) => name)
  return {
    context(name = first.getCurrentContext(), who) {
      if (!names.includes(name))
        throw new CoreError(
          'invalid',
          `${who === undefined ? '' : `watcher "${who}": `}no context "${name}" in the kubeconfig; it has ${names.join(', ') || 'none'}`,
        )
      return known.getOrInsertComputed(name, () => createContext(name, path))
    },
  }
}

function load(path: string | undefined): KubeConfig {
  const config = new KubeConfig()
  try {
    if (path === undefined) config.loadFromDefault()
    else config.loadFromFile(path)
  } catch (error) {
    throw new CoreError('invalid', `the kubeconfig ${path ?? 'of KUBECONFIG'} can't be read: ${(error as Error).message.split('\n')[0]}`)
  }
  // What the library makes up when there is nothing.
  const isMadeUp =
    path === undefined && config.clusters[0]?.server === 'http://localhost:8080' && config.getCurrentContext() === 'loaded-context'
  if (isMadeUp)
    throw new CoreError('invalid', 'watchers need a kubeconfig: set `kubeconfig:` in the config file, or KUBECONFIG, or run in a cluster')
  return config
}

function createContext(name: string, path: string | undefined): KubeContext {
  let generation = 0
  let config = loadContext()
  let agent: { readonly key: string; readonly agent: HttpAgent } | undefined
  const server = (config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '')
  if (URL.parse(server) === null) throw new CoreError('invalid', `the cluster of context "${name}" has no server address: "${server}"`)

  function loadContext(): KubeConfig {
    const loaded = load(path)
    loaded.setCurrentContext(name)
    // Of plain HTTP the library asks that it be said twice.
    for (const cluster of loaded.clusters) if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true })
    return loaded
  }

  /** One for all requests, until the certificates change. */
  function agentFor({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }: RequestOptions): HttpAgent {
    const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }
    const identity = JSON.stringify(tls)
    if (agent?.key === identity) return agent.agent
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined)) as AgentOptions
    const options = { ...given, keepAlive: true, timeout: IDLE_CONNECTION_MS }
    agent = { key: identity, agent: server.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options) }
    return agent.agent
  }

  return {
    name,
    server,
    async credentials() {
      const options: RequestOptions = { headers: {} }
      const used = generation
      try {
        await config.applyToHTTPSOptions(options)
      } catch (error) {
        throw new LinkFailure('unauthorized', `no credentials for context ${name}: ${(error as Error).message}`, {
          hint: `The kubeconfig's user of context ${name} gives no credentials: run its credential plugin by hand, and check the files it names.`,
          cause: error,
        })
      }
      const goesThroughProxy = config.getCurrentCluster()?.proxyUrl !== undefined
      return { generation: used, options: { ...options, ...(goesThroughProxy ? {} : { agent: agentFor(options) }) } }
    },
    refresh(used) {
      if (used.generation !== generation) return
      generation++
      try {
        config = loadContext()
      } catch {
        // Half written, perhaps: what we have is tried until it can be read.
      }
    },
  }
}
