import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { type CommitPace, createCommitPace } from './commit-pace.ts'

let clock: FakeClock
let pace: CommitPace
beforeEach(() => {
  clock = createFakeClock(0)
  pace = createCommitPace(clock)
})

async function commit(tookMs: number) {
  pace.begun()
  await clock.advance(tookMs)
  pace.ended(tookMs)
}

describe('the pace of commits', () => {
  it('is slow after three slow commits in a row, and no more after three quick ones', async () => {
    await commit(300)
    await commit(300)
    expect(pace.slow()).toBeNull()
    await commit(310)
    expect(pace.slow()).toEqual({ commitMs: 310, since: 910 })
    await commit(5)
    await commit(5)
    expect(pace.slow()).not.toBeNull()
    await commit(5)
    expect(pace.slow()).toBeNull()
  })

  it('takes no notice of a slow commit now and then', async () => {
    for (let round = 0; round < 10; round++) {
      await commit(900)
      await commit(199)
    }
    expect(pace.slow()).toBeNull()
  })

  it('is slow while one hangs, since it began', async () => {
    await clock.advance(1_000)
    pace.begun()
    await clock.advance(1_999)
    expect(pace.slow()).toBeNull()
    await clock.advance(1)
    expect(pace.slow()).toEqual({ commitMs: 2_000, since: 1_000 })
    pace.ended(2_000)
    expect(pace.slow()).toBeNull()
  })

  it('is not known when nothing has been written for half a minute', async () => {
    for (let round = 0; round < 3; round++) await commit(300)
    await clock.advance(30_000)
    expect(pace.slow()).not.toBeNull()
    await clock.advance(1)
    expect(pace.slow()).toBeNull()
  })
})
