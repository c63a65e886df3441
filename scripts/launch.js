// What npm scripts run, on the machine's own Node (>= 20.9): installs, generates and builds what is missing or stale, then
// runs the entry on Node 26 and passes signals and the exit status through. Plain JavaScript without dependencies: it brings
// everything else.
//   node scripts/launch.js [--build] <entry> [arguments]
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, findNode, generateTypes, install } from './launch-steps.js'
import { takeTurn } from './launch-turn.js'

const ORPHAN_POLL_MS = 500
/** Tidewatch promises to be gone 10 s after SIGTERM. */
const ORPHAN_KILL_MS = 15_000

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const [first, ...others] = process.argv.slice(2)
const wantsBuild = first === '--build'
const entry = wantsBuild ? others : [first, ...others]
const steps = wantsBuild ? [install, generateTypes, build] : [install, generateTypes]
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }

/** What runs at the moment: a step or the entry. Signals go to it. */
let child
let stoppedBy
passSignals()
endWithNpm()
await prepare()
const node =
  findNode() ?? fail(`Tidewatch needs Node 26; npm has none for ${process.platform}-${process.arch}, so install one and run this again`)
process.exit(await run(node, entry, { stdio: 'inherit' }))

async function prepare() {
  if (steps.every((step) => step.isDone())) return
  const endTurn = await takeTurn()
  for (const step of steps) {
    // Asked again: whoever had the turn before may have done it.
    if (step.isDone()) continue
    say(step.title)
    step.before?.()
    const { file, args, shell = false } = step.command()
    // stdout is the entry's: scripts read it. NODE_ENV too: it makes npm leave out packages and Next build for development.
    const status = await run(file, args, { stdio: ['ignore', 2, 2], shell, env: { ...env, NODE_ENV: undefined } })
    if (status !== 0 || stoppedBy !== undefined) fail(`${step.title} failed`)
    step.after?.()
  }
  endTurn()
}
function run(file, args, options) {
  return new Promise((resolve) => {
    child = spawn(file, args, { env, ...options })
    child.on('error', (error) => fail(`${file}: ${error.message}`))
    child.on('exit', (code, signal) => {
      child = undefined
      resolve(code ?? 128 + constants.signals[signal])
    })
  })
}
/** Ctrl-C comes from the terminal and from here: what runs gets it twice. */
function passSignals() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal))
}
function stop(signal) {
  stoppedBy = signal
  if (child === undefined) process.exit(128 + constants.signals[signal])
  child.kill(signal)
}
/** npm's shell dies of a signal without passing it on, and outlives an npm that was killed: when either is gone, so is the reason to run. */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return
  const npm = readNpm()
  const poll = setInterval(() => {
    if (readNpm() === npm) return
    clearInterval(poll)
    setTimeout(() => child?.kill('SIGKILL'), ORPHAN_KILL_MS).unref()
    stop('SIGTERM')
  }, ORPHAN_POLL_MS)
  poll.unref()
}
/** Our parent, and where the system tells (Linux) its parent too if ours is a shell: npm starts us through one, or itself. */
function readNpm() {
  try {
    const [, name, fields = ''] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${process.ppid}/stat`, 'utf8')) ?? []
    return /^(sh|dash|bash|ash)$/.test(name) ? `${process.ppid} ${fields.split(' ')[1]}` : String(process.ppid)
  } catch {
    return String(process.ppid)
  }
}
function say(text) {
  console.error(`tidewatch: ${text}`)
}
function fail(text) {
  if (stoppedBy !== undefined) process.exit(128 + constants.signals[stoppedBy])
  say(text)
  process.exit(1)
}
