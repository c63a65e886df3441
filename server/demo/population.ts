import type { DataPlaneIdentity } from './data-plane.ts'

const SERVICES = [
  'gateway',
  'web',
  'checkout',
  'payments',
  'ledger',
  'search',
  'cart',
  'profile',
  'inventory',
  'mailer',
  'pricing',
  'audit',
] as const
const FIRST_PORT = 20_000
const CALLS_PER_PROXY = 3

/** A plausible fleet: `count` data planes spread over the meshes and a dozen services, each calling three others, half of them speaking delta. Same seed, same fleet. */
export function populate(meshes: readonly string[], count: number, seed: number): readonly DataPlaneIdentity[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, index) => {
    const mesh = meshes[index % meshes.length] ?? 'default'
    const serviceIndex = Math.floor(index / meshes.length) % SERVICES.length
    const service = SERVICES[serviceIndex] ?? 'web'
    const suffix = Math.floor(random() * 0x10000)
      .toString(16)
      .padStart(4, '0')
    const outbound = Array.from({ length: CALLS_PER_PROXY }, (_unused, call) => ({
      port: 40_000 + call,
      tags: { 'kuma.io/service': SERVICES[(serviceIndex + call + 1) % SERVICES.length] ?? 'web' },
    }))
    return {
      mesh,
      name: `${service}-${suffix}-${index}`,
      variant: random() < 0.5 ? 'sotw' : 'delta',
      spec: {
        networking: {
          address: '127.0.0.1',
          inbound: [
            {
              port: FIRST_PORT + (index % 20_000),
              servicePort: 8080,
              tags: { 'kuma.io/service': service, version: random() < 0.5 ? 'v1' : 'v2' },
            },
          ],
          outbound,
        },
      },
    }
  })
}

/** Mulberry32: small, fast and the same everywhere. In [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
