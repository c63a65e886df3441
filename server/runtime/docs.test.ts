import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type TunableSpec, tunables } from '../model/tunables.ts'
import { createMetrics } from '../lib/metrics.ts'
import { flags, switches } from './config.ts'
import { createCoreMetrics } from './core-metrics.ts'

/** Cells of each table row of a page; formatters may pad them. */
function tableOf(page: string) {
  return readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
}
const rows = tableOf('CONFIGURATION.md')

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

describe('the metrics page', () => {
  const metrics = createMetrics()
  createCoreMetrics(metrics, {
    summary: () => ({}),
    waits: () => new Map(),
    sinks: () => [],
    sessions: () => ({ xds: 0, kds: 0 }),
    links: () => [],
  })

  it('names every metric with its kind, labels and meaning, in the order they are declared, and none that is not there', () => {
    const documented = tableOf('METRICS.md').filter((cells) => cells[1]?.startsWith('tidewatch_'))
    const declared = metrics.declared().map(({ name, kind, labels, help }) => [name, kind, labels.join(', '), help.replaceAll('`', '')])
    expect(documented.map((cells) => cells.slice(1, 5))).toEqual(declared)
  })
})
