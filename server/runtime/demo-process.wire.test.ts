import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSystemClock } from '../lib/clock.ts'
import { createDemoProcess, type DemoProcess } from './demo-process.ts'

/** A fleet that has one switch and no data planes, and does what `extra` says besides. */
const fleetOf = (extra: string) => `
import { writeFileSync } from 'node:fs'
let active = false
const announce = () => process.send({ kind: 'faults', faults: [{ name: 'storm', label: 'Storm', description: process.argv.slice(2).join(' '), active }] })
process.on('message', (message) => { active = message.active; announce() })
process.on('disconnect', () => process.exit())
writeFileSync(import.meta.dirname + '/pid', String(process.pid))
announce()
${extra}
`

let folder: string
let ending: AbortController
let running: Promise<void>
let alongside: boolean[]
let warnings: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidewatch-demo-test-'))
  ending = new AbortController()
  running = Promise.resolve()
  alongside = []
  warnings = []
})
afterEach(async () => {
  ending.abort()
  await running
  rmSync(folder, { recursive: true })
})

function start(extra: string): DemoProcess {
  const entry = join(folder, 'fleet.mjs')
  writeFileSync(entry, fleetOf(extra))
  const fleet = createDemoProcess(
    {
      clock: createSystemClock(),
      random: () => 0.5,
      log: { info: () => undefined, warn: (...args: unknown[]) => void warnings.push(String(args.at(-1))) },
      alongside: { storm: async (active) => void alongside.push(active) },
    },
    { what: 'the simulated fleet', entry, args: () => ['--xds', '127.0.0.1:1', '--meshes', 'default,shop'] },
  )
  running = fleet.run(ending.signal)
  return fleet
}
const isThere = (fleet: DemoProcess) => vi.waitFor(() => expect(fleet.list()).toHaveLength(1), { timeout: 10_000 })
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const readPid = () => Number(readFileSync(join(folder, 'pid'), 'utf8'))

describe('the simulated fleet of the demo', () => {
  it('is told where to connect, and says which switches it has', async () => {
    const fleet = start('')
    expect(fleet.list()).toEqual([])
    await isThere(fleet)
    expect(fleet.list()[0]?.description).toBe('--xds 127.0.0.1:1 --meshes default,shop')
  })

  it('answers a switch once the fleet has taken it and what goes with it is done', async () => {
    const fleet = start('')
    await isThere(fleet)
    await fleet.set('storm', true)
    expect(fleet.list()).toMatchObject([{ name: 'storm', active: true }])
    await fleet.set('storm', false)
    expect(fleet.list()).toMatchObject([{ active: false }])
    expect(alongside).toEqual([true, false])
  })

  it('refuses a switch that is none, naming those there are', async () => {
    const fleet = start('')
    await expect(fleet.set('storm', true)).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('the simulated fleet is starting'),
    })
    await isThere(fleet)
    await expect(fleet.set('flood', true)).rejects.toMatchObject({
      code: 'not_found',
      message: 'there is no switch "flood"; there are: storm',
    })
  })

  it('is started again when it dies, with every switch off, here too', async () => {
    const fleet = start('')
    await isThere(fleet)
    await fleet.set('storm', true)
    const pid = readPid()
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(readPid()).not.toBe(pid), { timeout: 10_000 })
    await vi.waitFor(() => expect(fleet.list()).toMatchObject([{ active: false }]), { timeout: 10_000 })
    expect(alongside).toEqual([true, false])
    expect(warnings).toEqual(['the simulated fleet ended; it is started again'])
  })

  it('says so when the fleet does not answer a switch', async () => {
    const fleet = start('process.removeAllListeners("message"); process.on("message", () => undefined)')
    await isThere(fleet)
    await expect(fleet.set('storm', true)).rejects.toMatchObject({ code: 'unavailable' })
    expect(alongside).toEqual([])
  })

  it('is gone when the demo ends, even if it does not listen', async () => {
    const fleet = start('process.on("SIGTERM", () => undefined)')
    await isThere(fleet)
    const pid = readPid()
    const startedAt = performance.now()
    ending.abort()
    await running
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    expect(isAlive(pid)).toBe(false)
  })
})
