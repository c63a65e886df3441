// npm run soak: what takes too long for npm test. Says what it did, and fails on a breach.
//   npm run soak                                  all of it: about an hour and a quarter
//   npm run soak -- --minutes=1 --kills=5 --stopped=6     all of it, shortly
//   npm run soak -- --only=churn --minutes=10 --seed=7
//   npm run soak -- --only=fuzz-xds --seed=7 --case=412   one stream of the fuzz again, as a breach names it
import { parseArgs } from 'node:util'
import { seededRandom } from '../server/demo/population.ts'
import { soakChurn } from './soak/churn.ts'
import { soakPeers } from './soak/hostile-peers.ts'
import { soakFuzzApi } from './soak/fuzz-api.ts'
import { soakFuzzKds } from './soak/fuzz-kds.ts'
import { soakFuzzXds } from './soak/fuzz-xds.ts'
import { soakDisks } from './soak/disks.ts'
import { soakKills } from './soak/kills.ts'
import { createReport, type Report } from './soak/report.ts'
import { soakClock, soakSleep } from './soak/time.ts'

interface Asked {
  readonly only: ReadonlySet<string>
  readonly minutes: number
  readonly kills: number
  readonly stoppedS: number
  readonly seed: number
  /** Mutated ones, of the fuzz. */
  readonly messages: number
  readonly onlyCase: number | undefined
}

/** Of the messages of the fuzz, one in so many goes to the API. */
const API_SHARE = 10
const PEERS_S = 10

const parts: Readonly<Record<string, (asked: Asked, report: Report) => Promise<void>>> = {
  kills: ({ kills, seed }, report) => soakKills({ times: kills, random: seededRandom(seed) }, report),
  disks: ({ seed }, report) => soakDisks(seed, report),
  clock: ({ seed }, report) => soakClock(seed, report),
  sleep: ({ stoppedS, seed }, report) => soakSleep({ stoppedMs: stoppedS * 1000, seed }, report),
  'fuzz-xds': ({ messages, seed, onlyCase }, report) => soakFuzzXds({ messages, seed, only: onlyCase }, report),
  'fuzz-kds': ({ messages, seed, onlyCase }, report) => soakFuzzKds({ messages, seed, only: onlyCase }, report),
  'fuzz-api': ({ messages, seed, onlyCase }, report) => soakFuzzApi({ messages: messages / API_SHARE, seed, only: onlyCase }, report),
  peers: (_asked, report) => soakPeers({ seconds: PEERS_S }, report),
  churn: ({ minutes, seed }, report) => soakChurn({ durationMs: minutes * 60_000, seed, withBrowser: true }, report),
}

const asked = parse(process.argv.slice(2))
if (typeof asked === 'string') {
  console.error(asked)
  process.exit(2)
}
const report = createReport((line) => console.log(line))
console.log(`soak with seed ${asked.seed}: ${[...asked.only].join(', ')}`)
for (const name of asked.only) {
  console.log(`\n== ${name}`)
  try {
    await parts[name]!(asked, report)
  } catch (error) {
    report.hold(false, `${name} runs to its end`, error instanceof Error ? error.message : String(error))
  }
}
console.log(`\n${report.breaches.length === 0 ? 'all held' : `${report.breaches.length} breached:\n${report.breaches.join('\n')}`}`)
process.exitCode = report.breaches.length === 0 ? 0 : 1

function parse(args: readonly string[]): Asked | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', default: Object.keys(parts).join(',') },
        minutes: { type: 'string', default: '60' },
        kills: { type: 'string', default: '200' },
        stopped: { type: 'string', default: '60' },
        seed: { type: 'string', default: '1' },
        messages: { type: 'string', default: '100000' },
        case: { type: 'string' },
      },
    })
    const only = new Set(values.only.split(','))
    const unknown = [...only].filter((name) => !Object.hasOwn(parts, name))
    if (unknown.length > 0) return `unknown: --only=${unknown.join(',')} (there is ${Object.keys(parts).join(', ')}, several with commas)`
    const [minutes, kills, stoppedS, seed, messages] = [values.minutes, values.kills, values.stopped, values.seed, values.messages].map(
      Number,
    )
    const onlyCase = values.case === undefined ? undefined : Number(values.case)
    const areWhole = [kills, seed, messages, onlyCase ?? 1].every(Number.isInteger)
    if ([minutes, kills, stoppedS, messages, onlyCase ?? 1].some((value) => !(value! > 0)) || !areWhole)
      return '--minutes, --kills, --messages, --case and --stopped (seconds) are numbers above 0, --seed a whole one'
    return { only, minutes: minutes!, kills: kills!, stoppedS: stoppedS!, seed: seed!, messages: messages!, onlyCase }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
