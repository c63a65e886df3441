// Tidewatch with a bug: a timer throws a while after it listens.
import { runTidewatch } from '../../server/main.ts'

const { write } = process.stdout
process.stdout.write = ((...args: Parameters<typeof write>) => {
  if (String(args[0]).includes('"listening"')) {
    setTimeout(() => {
      throw new Error('thrown in a timer on purpose')
    }, Number(process.argv[2]))
  }
  return write.apply(process.stdout, args)
}) as typeof write

await runTidewatch(process.argv.slice(3))
