import { writeFileSync } from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startScriptedApi, END_OF_LIST, bookmark, type ScriptedApi } from '../kubernetes/testing/scripted-api.ts'
import { readConfig } from './config.ts'
import { createControlPlane } from './create-control-plane.ts'

const log = pino({ level: 'silent' })
let api: ScriptedApi
afterEach(() => api.stop())

async function start(watcher: string) {
  api = await startScriptedApi()
  api.answerWith((_, reply) => {
    reply.stream()
    reply.line('ADDED', {
      kind: 'Node',
      metadata: {
        name: 'n1',
        resourceVersion: '7',
        managedFields: [{ manager: 'kubelet', operation: 'Update', subresource: 'status', time: '2026-12-01T08:00:00Z' }],
      },
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }] },
    })
    reply.line('BOOKMARK', bookmark('9', END_OF_LIST))
  })
  const path = join(mkdtempSync(join(tmpdir(), 'tidewatch-config-')), 'config.yaml')
  writeFileSync(path, `kubeconfig: ${api.kubeconfig}\nwatchers: [{ id: nodes, apiVersion: v1, kind: Node, ${watcher} }]`)
  return createControlPlane(readConfig(['--config', path, '--store', 'memory', '--xds-port', '0', '--kds-port', '0'], {}), log)
}

describe('configured watchers', () => {
  it('are links, and what they see is listed beside our own insights', async () => {
    const controlPlane = await start('context: core')
    const stopping = new AbortController()
    const running = controlPlane.run(stopping.signal)
    await controlPlane.listen()
    await vi.waitFor(() => expect(controlPlane.links.row('nodes')).toMatchObject({ state: { kind: 'live' }, objects: 1 }), {
      timeout: 5_000,
    })
    expect(controlPlane.links.row('nodes')).toMatchObject({
      kind: 'watch',
      endpoint: api.url,
      subject: 'v1 Node · context core',
      relists: { start: 1 },
    })
    const [row] = controlPlane.board.rows([{ type: 'Node', mesh: '', name: 'nodes/n1' }])
    expect(row).toMatchObject({
      freshness: 'fresh',
      source: 'nodes',
      version: '7',
      writer: 'kubelet',
      subject: { type: 'Node', mesh: '', name: 'n1' },
    })
    // Paused, it is blind: what it saw is neither fresh nor stale.
    controlPlane.links.pause('nodes', 'ada')
    await vi.waitFor(() => {
      const [blind] = controlPlane.board.rows([{ type: 'Node', mesh: '', name: 'nodes/n1' }])
      expect(blind).toMatchObject({ freshness: 'unknown', version: '7' })
    })
    controlPlane.links.resume('nodes', 'ada')
    await vi.waitFor(() => expect(controlPlane.board.rows([{ type: 'Node', mesh: '', name: 'nodes/n1' }])[0]?.freshness).toBe('fresh'))
    stopping.abort()
    await running
    await controlPlane.close()
  })

  it.each([
    ['context: egde', 'watcher "nodes": no context "egde" in the kubeconfig; it has edge, core'],
    ['freshness: { path: "..x", cadenceMs: 1000 }', /^watcher "nodes": freshness\.path "\.\.x" is no path like \.status\.lastRun/],
  ])('are refused with %s by one line that says what would be right', async (watcher, says) => {
    await expect(start(watcher)).rejects.toThrow(says)
  })
})
