import { describe, expect, it } from 'vitest'
import type { InsightRow } from '../../server/model/views.ts'
import { csvHeader, toCsvLine } from './insight-csv.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 50)
const row: InsightRow = {
  key: { type: 'DataplaneInsight', mesh: 'prod', name: 'web-1' },
  subject: { type: 'Dataplane', mesh: 'prod', name: 'web-1' },
  source: null,
  online: true,
  freshness: 'fresh',
  pendingMs: 0,
  heartbeatAgeMs: 0,
  pendingSince: now - 25_000,
  heartbeatAt: now - 60_000,
  cadenceMs: 10_000,
  heartbeatMs: 150_000,
  version: '42',
  writer: 'dataplane-sink',
  modifiedAt: now - 90_000,
  offlineSince: null,
  conflicts: { benign: 41, harmful: 3 },
  nacked: ['CDS', 'LDS'],
  complaints: [],
  contenders: [],
}

describe('CSV of insights', () => {
  it('judges each row at the moment of the export, not at the moment it was sent', () => {
    expect(toCsvLine(row, now)).toBe(
      'late,DataplaneInsight,prod,web-1,true,,25000,2.50,10000,2026-01-02T03:03:50.000Z,150000,2026-01-02T03:03:20.000Z,dataplane-sink,42,3,41,CDS LDS,,,\r\n',
    )
  })

  it('has a header with as many cells as a line', () => {
    expect(csvHeader.split(',')).toHaveLength(toCsvLine(row, now).split(',').length)
    expect(csvHeader.startsWith('freshness,type,mesh,name,')).toBe(true)
  })

  it('quotes what would break a line and disarms what a spreadsheet would run', () => {
    const hostile = { ...row, key: { ...row.key, name: '=HYPERLINK("http://x","y")', mesh: 'a,b' } }
    expect(toCsvLine(hostile, now)).toContain(`,"a,b","'=HYPERLINK(""http://x"",""y"")",`)
  })

  it('says nothing about the wait of a row that is offline', () => {
    const line = toCsvLine({ ...row, online: false, offlineSince: now - 1000 }, now)
    expect(line.startsWith('offline,DataplaneInsight,prod,web-1,false,2026-01-02T03:04:49.000Z,0,,')).toBe(true)
  })
})
