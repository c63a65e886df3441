/** The command line: one command, its answer on stdout, exit code 0, 1 (the API refused it) or 2 (typed wrong). */
import { readArguments, UsageError } from './arguments.ts'
import { runCommand, usage } from './commands.ts'

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  try {
    const args = readArguments(words)
    if (args.help) {
      process.stdout.write(usage)
      return 0
    }
    const { text, failed } = await runCommand(args)
    process.stdout.write(`${text}\n`)
    return failed ? 1 : 0
  } catch (error) {
    process.stderr.write(`tidewatch: ${messageOf(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** What the API said; or that nobody is there to say anything. */
function messageOf(error: unknown): string {
  const { message } = error as Error
  return /fetch failed|ECONNREFUSED/.test(message) ? 'nothing answers there: is Tidewatch running, and is --url right?' : message
}
