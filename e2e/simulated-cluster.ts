import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A simulated Kubernetes API server as a test's own, with the switches of the demo. */
export interface SimulatedCluster {
  readonly kubeconfig: string
  /** Resolves once it is in force. */
  set(fault: string, isActive: boolean): Promise<void>
  stop(): Promise<void>
}

interface Announced {
  readonly faults: readonly { readonly name: string; readonly active: boolean }[]
}

const TOKEN = 'simulated'

export async function startSimulatedCluster(): Promise<SimulatedCluster> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-e2e-kube-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'prod (simulated)',
      clusters: [{ name: 'prod', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'us', user: { token: TOKEN } }],
      contexts: [{ name: 'prod (simulated)', context: { cluster: 'prod', user: 'us' } }],
    }),
  )
  const child = spawn(process.execPath, ['server/demo/kube-api.ts', '--token', TOKEN, '--clusters', `prod=${port}`], {
    cwd: join(import.meta.dirname, '..'),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return {
    kubeconfig,
    async set(fault, isActive) {
      child.send({ kind: 'set', fault, active: isActive })
      for (;;) {
        const [{ faults }] = (await once(child, 'message')) as [Announced]
        if (faults.some(({ name, active }) => name === fault && active === isActive)) return
      }
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Nothing listens there: it was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}
