import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type TunableSpec, tunables } from '../model/tunables.ts'
import { flags, switches } from './config.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/CONFIGURATION.md'), 'utf8')
/** Cells of each table row; formatters may pad them. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))

describe('the configuration page', () => {
  it('names every flag with its environment variable and default', () => {
    for (const [flag, { env, default: initial, about }] of Object.entries(flags)) {
      expect(rows.find((cells) => cells[1] === `--${flag}`)?.slice(2, 5)).toEqual([env, initial, about])
    }
  })

  it('names every switch', () => {
    for (const [name, about] of Object.entries(switches)) expect(rows.find((cells) => cells[1] === `--${name}`)?.[4]).toBe(about)
  })

  it('names every tunable with its default and range', () => {
    for (const [key, { default: initial, range, description }] of Object.entries<TunableSpec>(tunables)) {
      expect(rows.find((cells) => cells[1] === key)?.slice(2, 5)).toEqual([
        String(initial),
        range === null ? '' : `${range.min}..${range.max}`,
        description,
      ])
    }
  })

  it('names no tunable that is not there', () => {
    const named = rows.map((cells) => cells[1] ?? '').filter((name) => name.includes('.') && !name.startsWith('--'))
    expect(named.filter((name) => !Object.hasOwn(tunables, name))).toEqual([])
  })
})
