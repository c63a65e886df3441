import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')

/** The JavaScript file behind a package's command, so that it runs on this very Node on every platform. */
export function pathOfTool(command: string, packageName = command): string {
  const folder = join(repository, 'node_modules', packageName)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { bin: string | Record<string, string> }
  const file = typeof bin === 'string' ? bin : bin[command]
  if (file === undefined) throw new Error(`the package ${packageName} has no command ${command}`)
  return join(folder, file)
}

export interface ToolResult {
  readonly status: number
  /** stdout and stderr as they came. */
  readonly output: string
}

/** Runs a tool to its end in `root`, whatever its status. */
export function runTool(root: string, file: string, args: readonly string[]): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ status: code ?? 1, output: output.trim() }))
  })
}
