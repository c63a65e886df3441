import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as requestHttps } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { createHoldableProxy } from './holdable-proxy.ts'

/** A real API server as a test's own: by scripts that may break it, or a given cluster, which is only used. */
export interface RealKubernetes {
  readonly kubeconfig: string
  /** Undefined on a given cluster. */
  readonly kit: KubernetesKit | undefined
  stop(): Promise<void>
}
export interface KubernetesKit {
  /** As in a crash; it stays down. */
  crash(): Promise<void>
  /** On the same port; what ran is killed. */
  start(): Promise<void>
  /** Asked to end, and started again. */
  restartGracefully(): Promise<void>
  /** Forgets past revisions, and restarts. */
  compact(): Promise<void>
  /** Keeps what etcd holds now; `restore` puts it back. Both end with a running server, started with these flags. */
  backup(): Promise<void>
  restore(): Promise<void>
  restartWith(flags: readonly string[]): Promise<void>
  /** Through the context `held`, connections are taken and nothing passes, until it is let go. */
  hold(isHeld: boolean): void
}

export async function startKubernetes(): Promise<RealKubernetes> {
  const up = process.env['TIDEWATCH_KUBE_UP']
  if (up === undefined) {
    const kubeconfig = process.env['KUBECONFIG']
    if (kubeconfig === undefined) throw new Error('neither TIDEWATCH_KUBE_UP nor KUBECONFIG is set')
    return { kubeconfig, kit: undefined, stop: async () => undefined }
  }
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-kube-'))
  const call = (name: string, ...args: readonly string[]) => run(join(dirname(up), name), [folder, ...args])
  const restartWith = async (flags: readonly string[]) => {
    await call('kube-down')
    await run(up, [folder, ...flags])
  }
  const wire = await withHeldContext((await run(up, [folder])).trim().split('\n').at(-1)!, join(folder, 'kubeconfig-held'))
  const [etcd, kept] = [join(folder, 'etcd'), join(folder, 'etcd-kept')]
  return {
    kubeconfig: wire.kubeconfig,
    kit: {
      hold: wire.proxy.hold,
      crash: async () => void (await call('kube-restart', '--down')),
      start: async () => void (await call('kube-restart')),
      restartGracefully: async () => void (await call('kube-restart', '--graceful')),
      compact: async () => void (await call('kube-compact')),
      async backup() {
        await call('kube-down')
        cpSync(etcd, kept, { recursive: true })
        await run(up, [folder])
      },
      async restore() {
        await call('kube-down')
        rmSync(etcd, { recursive: true })
        cpSync(kept, etcd, { recursive: true })
        await run(up, [folder])
      },
      restartWith,
    },
    async stop() {
      wire.proxy.close()
      await call('kube-down')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A kubeconfig with one context more: `held`, as the current one, through a wire that can be held. */
async function withHeldContext(kubeconfig: string, path: string) {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const [cluster, context] = [config.getCurrentCluster()!, config.getContextObject(config.getCurrentContext())!]
  const { hostname, port } = new URL(cluster.server)
  const proxy = await createHoldableProxy({ host: hostname, port: Number(port) })
  config.addCluster({ ...cluster, name: 'held', server: `https://127.0.0.1:${proxy.port}` })
  config.addContext({ ...context, name: 'held', cluster: 'held' })
  writeFileSync(path, config.exportConfig())
  return { kubeconfig: path, proxy }
}

function run(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.on('error', reject)
    child.on('exit', (code) => (code === 0 ? resolve(output) : reject(new Error(`${file} ended with ${code}`))))
  })
}

export interface KubeObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string }
}

/** Requests as one context of the kubeconfig; answers that refuse are thrown. */
export function kubeApi(kubeconfig: string, context?: string) {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  if (context !== undefined) config.setCurrentContext(context)
  const { server } = config.getCurrentCluster()!

  async function send<T>(method: string, path: string, body?: object): Promise<T> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const options = { headers: {} }
    await config.applyToHTTPSOptions(options)
    return new Promise((resolve, reject) => {
      const request = requestHttps(
        `${server}${path}`,
        { ...options, method, headers: { ...options.headers, 'content-type': contentType } },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
          response.on('end', () =>
            (response.statusCode ?? 500) < 300
              ? resolve(JSON.parse(text) as T)
              : reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`)),
          )
          response.on('error', reject)
        },
      )
      request.on('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  return {
    hasContext: (name: string) => config.getContextObject(name) !== null,
    get: <T>(path: string) => send<T>('GET', path),
    create: (path: string, body: object) => send<KubeObject>('POST', path, body),
    patch: (path: string, body: object) => send<KubeObject>('PATCH', path, body),
    delete: (path: string) => send<unknown>('DELETE', path),
    list: async (path: string) => (await send<{ items?: readonly KubeObject[] }>('GET', path)).items ?? [],
  }
}
