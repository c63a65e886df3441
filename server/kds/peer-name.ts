import { ZONE_LABEL } from '../model/origin.ts'

/**
 * The name a resource gets when it crosses to a peer that wants it (`hash-suffix`): `<display name>-<hash>`, so that equal names
 * of two zones or meshes never meet. The hash is FNV-1a (64 bit) over mesh, name and the values of the labels below, where
 * present; its digits are mapped to letters that Kubernetes takes and that make no words.
 */
export interface NamedForPeer {
  readonly mesh: string
  /** Before the suffix. */
  readonly displayName: string
  readonly labels: Readonly<Record<string, string>>
}

export const MESH_LABEL = 'kuma.io/mesh'
export const DISPLAY_NAME_LABEL = 'kuma.io/display-name'
/** `disabled` keeps a resource at home. */
export const SYNC_LABEL = 'kuma.io/kds-sync'

/** Types whose names are the same everywhere. */
const KEPT: ReadonlySet<string> = new Set(['Mesh', 'Config', 'Secret', 'GlobalSecret'])
const HASHED_LABELS = [ZONE_LABEL, 'k8s.kuma.io/namespace']
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const LONGEST = 253

export function keepsItsName(type: string): boolean {
  return KEPT.has(type)
}

export function suffixedName({ mesh, displayName, labels }: NamedForPeer): string {
  const suffix = `-${letters(fnv1a64([mesh, displayName, ...HASHED_LABELS.flatMap((label) => labels[label] ?? [])]))}`
  return `${displayName.slice(0, LONGEST - suffix.length)}${suffix}`
}

function fnv1a64(parts: readonly string[]): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(parts.join(''))) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
  return hash
}

function letters(hash: bigint): string {
  const digits = hash.toString(16).padStart(16, '0')
  return Array.from(digits, (digit) => LETTERS[digit.charCodeAt(0) % LETTERS.length]).join('')
}

/** As a resource is named in a delta message: `<name>.<mesh>`, `<name>.` without mesh. */
export function toWireName({ name, mesh }: { readonly name: string; readonly mesh: string }): string {
  return `${name}.${mesh}`
}

/** Split at the last dot: a mesh has none in its name. */
export function fromWireName(text: string): { readonly name: string; readonly mesh: string } {
  const dot = text.lastIndexOf('.')
  return dot === -1 ? { name: text, mesh: '' } : { name: text.slice(0, dot), mesh: text.slice(dot + 1) }
}
