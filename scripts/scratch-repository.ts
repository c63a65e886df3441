import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const repository = join(import.meta.dirname, '..')
const CONFIGS = ['oxlint.config.ts', '.oxfmtrc.json', 'tsconfig.json', 'server/tsconfig.json', 'tools']

export interface ScratchRepository extends Disposable {
  readonly root: string
}

/** A small repository under our own configuration, to see what the checks say of it. `files`: source by path. */
export function createScratchRepository(files: Readonly<Record<string, string>>): ScratchRepository {
  const root = mkdtempSync(join(tmpdir(), 'tidewatch-scratch-'))
  for (const config of CONFIGS) cpSync(join(repository, config), join(root, config), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'), 'junction')
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), source)
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) }
}
