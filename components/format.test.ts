import { describe, expect, it } from 'vitest'
import { formatAge, formatExactSpan, formatMoment, formatQuantity, formatRate, formatSpan, formatUtc } from './format.ts'

describe('spans', () => {
  it.each([
    [0, '0 ms'],
    [52.4, '52 ms'],
    [999.6, '1 s'],
    [3_840, '3.8 s'],
    [9_960, '10 s'],
    [48_000, '48 s'],
    [59_600, '1 min'],
    [252_000, '4 min 12 s'],
    [2_400_000, '40 min'],
    [3_590_000, '1 h'],
    [15_120_000, '4 h 12 min'],
    [6 * 86_400_000 + 3 * 3_600_000, '6 d 3 h'],
    [-5, '0 ms'],
  ])('%d ms reads %s', (ms, text) => expect(formatSpan(ms)).toBe(text))

  it.each([
    [0, '0 ms'],
    [250, '250 ms'],
    [1_500, '1.5 s'],
    [10_000, '10 s'],
    [90_000, '90 s'],
    [120_000, '2 min'],
    [7_200_000, '2 h'],
  ])('a setting of %d ms reads %s, without loss', (ms, text) => expect(formatExactSpan(ms)).toBe(text))

  it('an age keeps its tenth, so that it does not change width while it moves', () => {
    expect(formatAge(0)).toBe('0.0 s')
    expect(formatAge(4_000)).toBe('4.0 s')
    expect(formatAge(12_400)).toBe('12 s')
  })
})

describe('rates and quantities', () => {
  it.each([
    [0, '0/s'],
    [0.01, '<0.1/s'],
    [2.14, '2.1/s'],
    [1139.7, '1,140/s'],
  ])('%d a second reads %s', (rate, text) => expect(formatRate(rate)).toBe(text))

  it('counts one and many', () => {
    expect(formatQuantity(1, 'session')).toBe('1 session')
    expect(formatQuantity(12_276, 'session')).toBe('12,276 sessions')
    expect(formatQuantity(2, 'data plane has', 'data planes have')).toBe('2 data planes have')
  })
})

describe('moments', () => {
  const at = Date.UTC(2026, 10, 30, 14, 18, 29, 123)

  it('of the same day have no date', () => {
    expect(formatMoment(at, { now: at + 3_600_000, timeZone: 'UTC' })).toBe('14:18:29')
  })
  it('of another day have one, in the zone asked for', () => {
    expect(formatMoment(at, { now: at + 86_400_000, timeZone: 'UTC' })).toBe('30 Nov 14:18:29')
    expect(formatMoment(at, { now: at, timeZone: 'Asia/Tokyo' })).toBe('23:18:29')
  })
  it('are told in full in UTC', () => expect(formatUtc(at)).toBe('2026-11-30 14:18:29.123 UTC'))
})
