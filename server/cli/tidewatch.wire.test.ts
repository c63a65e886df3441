import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startMain, type Main } from './testing/start-main.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidewatch-cli-'))
const entry = join(import.meta.dirname, 'tidewatch.ts')
let main: Main
beforeAll(async () => {
  main = await startMain(folder)
})
afterAll(async () => {
  await main.stop()
  rmSync(folder, { recursive: true })
})

function tidewatch(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [entry, '--url', main.url, ...args], (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

describe('the command line', () => {
  it('applies several documents, lists and shows what there is, and deletes it', async () => {
    const file = join(folder, 'all.yaml')
    writeFileSync(
      file,
      'type: Mesh\nname: demo\n---\ntype: MeshTimeout\nmesh: demo\nname: slow\nspec: { to: [{ targetRef: { kind: Mesh }, default: { idleTimeout: 5s } }] }\n',
    )
    expect(await tidewatch('apply', '-f', file)).toEqual({ code: 0, out: 'Mesh demo: created\nMeshTimeout demo/slow: created\n', err: '' })
    const list = await tidewatch('get', 'MeshTimeout', '-m', 'demo')
    expect(list.out).toMatch(/^MESH {2}NAME .*\n(demo .*\n){3}$/)
    expect((await tidewatch('get', 'MeshTimeout', 'slow', '-m', 'demo')).out).toContain('idleTimeout: 5s')
    expect(JSON.parse((await tidewatch('get', 'Mesh', '-o', 'json')).out)).toHaveLength(2)
    expect((await tidewatch('delete', 'MeshTimeout', 'slow', '-m', 'demo')).out).toBe('MeshTimeout demo/slow: deleted\n')
  })

  it('applies the rest of a file when one of it is refused, and says so by its exit code', async () => {
    const file = join(folder, 'some.yaml')
    writeFileSync(
      file,
      'type: MeshTimeout\nmesh: nowhere\nname: x\nspec: { to: [{ targetRef: { kind: Mesh } }] }\n---\n{ type: Mesh, name: other }\n',
    )
    const { code, out } = await tidewatch('apply', '-f', file)
    expect(code).toBe(1)
    expect(out).toBe(
      'MeshTimeout nowhere/x: not applied: MeshTimeout nowhere/x belongs to Mesh nowhere, which is not there\nMesh other: created\n',
    )
  })

  it('tunes a setting under the version it read', async () => {
    expect((await tidewatch('settings', 'set', 'sink.dataplane.flushIntervalMs', '5000', '--reason', 'rush')).out).toMatch(
      /^sink\.dataplane\.flushIntervalMs: 10000 -> 5000 \(version .+\)\n$/,
    )
    expect((await tidewatch('sinks', 'list')).out).toMatch(/^dataplane +5000 ms/m)
    const refused = await tidewatch('settings', 'set', 'sink.dataplane.flushIntervalMs', '1')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('must be from 100 to 600000 ms')])
  })

  it('says in one line what was typed wrong, with exit code 2', async () => {
    for (const [args, says] of [
      [[], 'no command; --help lists them'],
      [['gte', 'Mesh'], 'there is no command "gte Mesh"'],
      [['get'], 'needs a TYPE'],
      [['apply'], 'apply needs -f FILE'],
      [['apply', '-f', '/nowhere.yaml'], "/nowhere.yaml can't be read"],
      [['sinks', 'list', '-o', 'xml'], '--output must be table, json or yaml'],
      [['sinks', 'list', '--nonsense'], 'Unknown option'],
      [['settings', 'set', 'a', '1', '--confirm-within', '60s'], 'not available in this version'],
    ] as const) {
      const { code, err } = await tidewatch(...args)
      expect([code, err]).toEqual([2, expect.stringContaining(says)])
      expect(err.trim().split('\n')).toHaveLength(1)
    }
  })

  it('says when nobody answers, and what the API refuses', async () => {
    const nobody = await tidewatch('--url', 'http://127.0.0.1:1', 'sinks', 'list')
    expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('nothing answers there')])
    expect(await tidewatch('get', 'Mehs')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no resource type "Mehs"') as string,
    })
  })
})
