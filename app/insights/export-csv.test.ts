import { describe, expect, it } from 'vitest'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { exportCsv } from './export-csv.ts'

const keys: readonly Key[] = Array.from({ length: 450 }, (_, index) => ({ type: 'DataplaneInsight', mesh: 'prod', name: `dp-${index}` }))
const rowOf = (key: Key): InsightRow => ({
  key,
  subject: { ...key, type: 'Dataplane' },
  source: null,
  online: true,
  freshness: 'fresh',
  pendingMs: 0,
  heartbeatAgeMs: 0,
  pendingSince: null,
  heartbeatAt: 1000,
  cadenceMs: 10_000,
  heartbeatMs: 150_000,
  version: '1',
  writer: 'dataplane-sink',
  modifiedAt: 1000,
  offlineSince: null,
  conflicts: { benign: 0, harmful: 0 },
  nacked: [],
  complaints: [],
  contenders: [],
})

describe('exporting the list', () => {
  it('writes every row of the order, in its order, by pages the server allows', async () => {
    const asked: number[] = []
    const progress: number[] = []
    const parts = await exportCsv({
      keys,
      fetchRows: (page) => {
        asked.push(page.length)
        return Promise.resolve({ now: 2000, items: page.map(rowOf) })
      },
      signal: new AbortController().signal,
      onProgress: (done) => void progress.push(done),
    })
    const [header, ...lines] = parts.join('').trimEnd().split('\r\n')
    expect(asked).toEqual([200, 200, 50])
    expect(progress).toEqual([200 / 450, 400 / 450, 1])
    expect(header?.split(',')[3]).toBe('name')
    expect(lines.map((line) => line.split(',')[3])).toEqual(keys.map(({ name }) => name))
  })

  it('leaves out what has gone since the order was taken', async () => {
    const parts = await exportCsv({
      keys: keys.slice(0, 3),
      fetchRows: (page) => Promise.resolve({ now: 2000, items: page.slice(1).map(rowOf) }),
      signal: new AbortController().signal,
      onProgress: () => undefined,
    })
    expect(parts.join('').trimEnd().split('\r\n')).toHaveLength(3)
  })

  it('fails as a whole when a page fails, rather than give half a file', async () => {
    const failing = exportCsv({
      keys,
      fetchRows: (page) => (page === keys ? Promise.resolve({ now: 0, items: [] }) : Promise.reject(new Error('gone away'))),
      signal: new AbortController().signal,
      onProgress: () => undefined,
    })
    await expect(failing).rejects.toThrow('gone away')
  })
})
