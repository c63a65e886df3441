import { parseArgs } from 'node:util'

/** What was typed, taken apart. */
export interface Arguments {
  readonly words: readonly string[]
  readonly url: string
  readonly output: 'table' | 'json' | 'yaml'
  readonly mesh: string | undefined
  readonly files: readonly string[]
  readonly reason: string | undefined
  readonly type: string | undefined
  readonly version: string | undefined
  readonly help: boolean
}

/** A mistake of whoever typed it: one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const DEFAULT_URL = 'http://127.0.0.1:7680'
const outputs = ['table', 'json', 'yaml'] as const

export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parse(args)
  const output = outputs.find((each) => each === (values.output ?? 'table'))
  if (output === undefined) throw new UsageError(`--output must be table, json or yaml, not "${values.output}"`)
  if (values['confirm-within'] !== undefined || values.ttl !== undefined)
    throw new UsageError(
      '--confirm-within and --ttl are not available in this version: set it, and set it back when it does not do what it should',
    )
  return {
    words: positionals,
    url: (values.url ?? DEFAULT_URL).replace(/\/+$/, ''),
    output,
    mesh: values.mesh,
    files: values.file ?? [],
    reason: values.reason,
    type: values.type,
    version: values['expected-version'],
    help: values.help ?? false,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        output: { type: 'string', short: 'o' },
        mesh: { type: 'string', short: 'm' },
        file: { type: 'string', short: 'f', multiple: true },
        reason: { type: 'string' },
        type: { type: 'string' },
        'expected-version': { type: 'string' },
        'confirm-within': { type: 'string' },
        ttl: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('. ')[0]}; --help lists what there is`)
  }
}
