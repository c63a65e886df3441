import { describe, expect, it } from 'vitest'
import { fightOf } from './conflict-story.ts'
import type { ConflictCell } from './views.ts'

const MINUTE = 60_000
const cell = (writer: string, lostTo: string, [benign, harmful = 0]: readonly [number, number?]): ConflictCell => ({
  writer,
  lostTo,
  type: 'DataplaneInsight',
  benign,
  harmful,
  attempts: 2 * (benign + harmful),
})

describe('who fights', () => {
  it('is said of nobody when writers meet now and then', () => {
    expect(fightOf([], MINUTE)).toBeNull()
    expect(fightOf([cell('identity', 'dataplane-sink', [5])], MINUTE)).toBeNull()
    expect(fightOf([cell('identity', 'dataplane-sink', [20])], 5 * MINUTE)).toBeNull()
  })

  it('names the two who lose to each other most, both ways counted together', () => {
    expect(
      fightOf(
        [cell('identity', 'dataplane-sink', [20]), cell('dataplane-sink', 'identity', [3]), cell('lifecycle', 'lifecycle', [1])],
        MINUTE,
      ),
    ).toBe('dataplane-sink and identity are fighting over DataplaneInsights: 23 conflicts in the last minute, all benign.')
  })

  it('puts those first whose conflicts cost something', () => {
    expect(fightOf([cell('identity', 'dataplane-sink', [50]), cell('lifecycle', 'kds-sync', [4, 4])], MINUTE)).toBe(
      'kds-sync and lifecycle are fighting over DataplaneInsights: 8 conflicts in the last minute, 4 of them harmful.',
    )
  })

  it('is judged by the rate over the window, and says how long that was', () => {
    expect(fightOf([cell('identity', 'dataplane-sink', [29])], 5 * MINUTE)).toBeNull()
    expect(fightOf([cell('identity', 'dataplane-sink', [30])], 5 * MINUTE)).toMatch(/30 conflicts in the last 5 minutes, all benign\.$/)
  })

  it('says so when instances of one writer fight', () => {
    expect(fightOf([cell('mesh-resyncer', 'mesh-resyncer', [30])], MINUTE)).toMatch(/^Several writers named mesh-resyncer/)
  })
})
