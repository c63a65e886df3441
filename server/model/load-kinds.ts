import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CoreError } from '../lib/errors.ts'
import type { Kind, Kinds } from './kind.ts'
import { kumaTypes } from './kuma-types.ts'

/**
 * Reads every file of the folder kinds/ and gathers the Kind each exports; types that only pass through between control planes
 * follow. Throws when a file exports none or two share a type.
 */
export async function loadKinds(): Promise<Kinds> {
  const folder = join(import.meta.dirname, 'kinds')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts')).sort()
  const kinds = new Map<string, Kind>()
  for (const file of files) {
    const { kind } = (await import(pathToFileURL(join(folder, file)).href)) as { kind?: Kind }
    if (kind === undefined) throw new CoreError('internal', `server/model/kinds/${file} exports no kind`)
    if (kinds.has(kind.type))
      throw new CoreError('internal', `server/model/kinds/${file} declares ${kind.type}, which another file declares already`)
    kinds.set(kind.type, kind)
  }
  for (const { type, scope } of kumaTypes) if (!kinds.has(type)) kinds.set(type, passingKind(type, scope))
  return kinds
}

/** Kept as it came; we know no more of it than whether it lives in a mesh, which owns it then. */
function passingKind(type: string, scope: Kind['scope']): Kind {
  return {
    type,
    scope,
    ...(scope === 'mesh' && { ownerOf: ({ mesh }) => ({ type: 'Mesh', mesh: '', name: mesh }) }),
    parseSpec(input) {
      if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
      throw new CoreError('invalid', `${type}: its spec must be an object`, { details: { field: 'spec' } })
    },
  }
}
