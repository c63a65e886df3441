import { expect, it } from 'vitest'
import { effectText, settingName, settingText } from './change-words.ts'

it('names a setting as one says it', () => {
  expect(settingName('sink.dataplane.flushIntervalMs')).toBe('dataplane flush interval')
  expect(settingName('insight.idleTimeoutMs')).toBe('insight idle timeout')
})

it('writes spans with their unit and words as they are', () => {
  expect(settingText('sink.dataplane.flushIntervalMs', 4_000)).toBe('4 s')
  expect(settingText('sink.dataplane.flushBackoffMs', 'auto')).toBe('auto')
  expect(settingText('upsert.maxTimes', 10)).toBe('10')
})

it('tells what came of a change', () => {
  expect(effectText({ afterMs: 900, sessions: 12_276 })).toBe('in effect for all 12,276 sessions after 900 ms')
  expect(effectText({ afterMs: 3_900, sessions: 1 })).toBe('in effect for 1 session after 3.9 s')
  expect(effectText({ afterMs: 2, sessions: 0 })).toBe('in effect, no session was there')
  expect(effectText(null)).toBeUndefined()
})
