import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A Tidewatch without pages, in a process of its own. */
export interface Main {
  readonly url: string
  stop(): Promise<void>
}

export async function startMain(dataDir: string): Promise<Main> {
  const entry = join(import.meta.dirname, '../../main.ts')
  const args = ['--no-ui', '--store', 'memory', '--port', '0', '--xds-port', '0', '--kds-port', '0', '--data-dir', dataDir]
  const child = spawn(process.execPath, [entry, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('{')) resolve((JSON.parse(line) as { readonly url: string }).url)
    })
    child.on('close', (code) => reject(new Error(`it ended with ${code} before it listened`)))
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
