// Two commands on one fresh clone take turns: the second waits until the first has installed and built. The turn is a file
// that its holder touches while it lives; one left by a process that was killed goes stale and is taken over.
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'

const TURN = '.launch-busy'
const TOUCH_MS = 500
const POLL_MS = 200
/** Far above TOUCH_MS: a busy machine may keep the holder from touching for a while. */
const STALE_MS = 10_000

/** Resolves with a function that ends the turn, when it is ours. It also ends with this process. */
export async function takeTurn() {
  const name = `${process.pid} ${Math.random()}`
  let seen
  let seenAt = 0
  while (!createTurn(name)) {
    const now = performance.now()
    const sign = signOfLife()
    if (sign !== seen) {
      if (seen === undefined) console.error('tidewatch: waiting for another command to install and build')
      ;[seen, seenAt] = [sign, now]
    }
    // Its age on our own monotonic clock: neither another machine's time nor a suspended one makes it look stale.
    if (now - seenAt > STALE_MS) takeOver(sign)
    else await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  const touch = setInterval(touchTurn, TOUCH_MS)
  touch.unref()
  const end = () => {
    clearInterval(touch)
    if (readTurn() === name) rmSync(TURN, { force: true })
  }
  process.on('exit', end)
  return end
}

function createTurn(name) {
  try {
    writeFileSync(TURN, name, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}
function readTurn() {
  try {
    return readFileSync(TURN, 'utf8')
  } catch {
    return undefined
  }
}
function signOfLife() {
  try {
    return `${readTurn()} ${statSync(TURN).mtimeMs}`
  } catch {
    return 'none'
  }
}
function touchTurn() {
  const now = new Date()
  try {
    utimesSync(TURN, now, now)
  } catch {
    // Taken over while we were suspended.
  }
}
/** Renaming is atomic: of several that wait, one gets the stale file. Should it get a new holder's instead, it gives that back. */
function takeOver(sign) {
  const aside = `${TURN}.${process.pid}`
  try {
    renameSync(TURN, aside)
    if (!sign.startsWith(readFileSync(aside, 'utf8'))) linkSync(aside, TURN)
  } catch {
    // Another was faster; the next round sees what there is.
  }
  rmSync(aside, { force: true })
}
