import type { Dataplane } from '../../server/model/kinds/dataplane.ts'

/** The mesh that benches connect: services of 20 data planes each, which call two others and one that all of them call. */

export const MESH = 'default'
/** All call it; a change of it is a push to all. */
export const COMMON = 'collector'
const PER_SERVICE = 20

export interface NamedDataplane extends Dataplane {
  readonly type: 'Dataplane'
  readonly mesh: string
  readonly name: string
}

export function dataplaneOf(number: number): NamedDataplane {
  const service = serviceOf(Math.floor(number / PER_SERVICE))
  return {
    type: 'Dataplane',
    mesh: MESH,
    name: `${service}-${number % PER_SERVICE}`,
    networking: {
      address: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
      inbound: [{ port: 8_080, servicePort: 8_081, tags: { 'kuma.io/service': service, version: 'v1' } }],
      outbound: calledBy(number).map((called, index) => ({ port: 9_000 + index, tags: { 'kuma.io/service': called } })),
    },
  }
}

export function calledBy(number: number): readonly string[] {
  const own = Math.floor(number / PER_SERVICE)
  return [COMMON, serviceOf(own ^ 1), serviceOf(own ^ 2)]
}

/** What it asks for beside what it calls, one after the other. */
export function alsoAskedBy(number: number, round: number): string {
  return serviceOf(Math.floor(number / PER_SERVICE) ^ (round % 2 === 0 ? 4 : 8))
}

function serviceOf(index: number): string {
  return `service-${index}`
}
