import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../server/demo/population.ts'
import { soakChurn } from './churn.ts'
import { soakDisks } from './disks.ts'
import { soakFuzzApi } from './fuzz-api.ts'
import { soakFuzzKds } from './fuzz-kds.ts'
import { soakFuzzXds } from './fuzz-xds.ts'
import { soakPeers } from './hostile-peers.ts'
import { soakKills } from './kills.ts'
import { createReport, type Report } from './report.ts'
import { soakClock, soakSleep } from './time.ts'

const SEED = 1

async function breachesOf(part: (report: Report) => Promise<void>): Promise<readonly string[]> {
  const lines: string[] = []
  const report = createReport((line) => lines.push(line))
  await part(report)
  expect(lines.some((line) => line.includes('  ok  '))).toBe(true)
  return report.breaches
}

describe('the product, treated badly for a moment (npm run soak does it for an hour)', () => {
  it('loses nothing it acknowledged when it is killed while flushing, ten times over', async () => {
    expect(await breachesOf((report) => soakKills({ times: 10, random: seededRandom(SEED) }, report))).toEqual([])
  })

  it('tells of a full, a locked and a slow disk, lives, and catches up', async () => {
    expect(await breachesOf((report) => soakDisks(SEED, report))).toEqual([])
  })

  it('stays true and calm when its clock steps by an hour either way', async () => {
    expect(await breachesOf((report) => soakClock(SEED, report))).toEqual([])
  })

  it('stays calm when it wakes up after it was stopped', async () => {
    expect(await breachesOf((report) => soakSleep({ stoppedMs: 6_000, seed: SEED }, report))).toEqual([])
  })

  it('answers mutated gRPC messages with a clear status, and keeps nothing of them', async () => {
    expect(await breachesOf((report) => soakFuzzXds({ messages: 2_000, seed: SEED }, report))).toEqual([])
  })

  it('takes mutated messages of zones and of a global for what they are, and keeps nothing of them', async () => {
    expect(await breachesOf((report) => soakFuzzKds({ messages: 1_500, seed: SEED }, report))).toEqual([])
  })

  it('blames mutated requests and socket messages on who sent them', async () => {
    expect(await breachesOf((report) => soakFuzzApi({ messages: 500, seed: SEED }, report))).toEqual([])
  })

  it('answers peers that come and go as fast as they can, and keeps nothing of them', async () => {
    expect(await breachesOf((report) => soakPeers({ seconds: 1 }, report))).toEqual([])
  })

  it('keeps nothing of sessions that have gone', async () => {
    expect(await breachesOf((report) => soakChurn({ durationMs: 1, seed: SEED, withBrowser: false }, report))).toEqual([])
  })
})

describe('the report', () => {
  it('remembers what was breached and goes on', () => {
    const lines: string[] = []
    const report = createReport((line) => lines.push(line))
    report.hold(true, 'nothing is lost', 0)
    report.hold(false, 'nothing is lost', 3)
    expect(report.breaches).toEqual(['nothing is lost: 3'])
    expect(lines).toEqual(['  ok     nothing is lost: 0', '  BREACH nothing is lost: 3'])
  })
})
