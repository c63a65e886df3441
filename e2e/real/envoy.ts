import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A real Envoy that knows nothing but who it is and where Tidewatch is. */
export interface Envoy {
  /** Everything it took and refused, as its admin port tells. */
  configDump(): Promise<string>
  stats(filter: string): Promise<string>
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

export interface EnvoyOptions {
  readonly xds: string
  readonly variant: 'GRPC' | 'DELTA_GRPC'
  readonly mesh: string
  readonly name: string
  readonly networking: object
}

export async function startEnvoy({ xds, variant, mesh, name, networking }: EnvoyOptions): Promise<Envoy> {
  const [host = '', port = ''] = xds.split(':')
  const adminPort = await freePort()
  const ads = { ads: {}, resource_api_version: 'V3' }
  const bootstrap = {
    node: {
      id: `${mesh}.${name}`,
      cluster: name,
      metadata: { 'dataplane.resource': JSON.stringify({ type: 'Dataplane', mesh, name, networking }) },
    },
    admin: { address: addressOf('127.0.0.1', adminPort) },
    dynamic_resources: {
      ads_config: {
        api_type: variant,
        transport_api_version: 'V3',
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: 'tidewatch' } }],
      },
      cds_config: ads,
      lds_config: ads,
    },
    static_resources: {
      clusters: [
        {
          name: 'tidewatch',
          type: 'STATIC',
          connect_timeout: '1s',
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
              '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          load_assignment: {
            cluster_name: 'tidewatch',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: addressOf(host, Number(port)) } }] }],
          },
        },
      ],
    },
  }
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-envoy-'))
  const path = join(folder, 'bootstrap.json')
  writeFileSync(path, JSON.stringify(bootstrap))
  const child = spawn(
    process.env['TIDEWATCH_ENVOY']!,
    ['-c', path, '--disable-hot-restart', '--concurrency', '1', '-l', process.env['ENVOY_LOG'] ?? 'error'],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  const admin = async (what: string) => (await fetch(`http://127.0.0.1:${adminPort}/${what}`)).text()
  return {
    configDump: () => admin('config_dump?include_eds'),
    stats: (filter) => admin(`stats?filter=${filter}`),
    signal: (signal) => void child.kill(signal),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('close', resolve))
        child.kill('SIGCONT')
        child.kill('SIGTERM')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface Backend {
  readonly port: number
  stop(): Promise<void>
}

/** A server behind a proxy that answers with its own name. */
export async function startBackend(name: string): Promise<Backend> {
  const server: Server = createServer((_request, response) => response.end(name))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function addressOf(address: string, port: number) {
  return { socket_address: { address, port_value: port } }
}
