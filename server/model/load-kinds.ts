import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CoreError } from '../lib/errors.ts'
import type { Kind, Kinds } from './kind.ts'

/** Reads every file of the folder kinds/ and gathers the Kind each exports. Throws when one exports none or two share a type. */
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
  return kinds
}
