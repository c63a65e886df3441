import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Clone, createClone, type Ended } from './clone.ts'

/** What `npm ci` does, without a network: counts itself and brings the packages. */
const installer = (log: string) => `
import { appendFileSync } from 'node:fs'
import { linkPackages } from ${JSON.stringify(join(import.meta.dirname, 'clone.ts'))}
appendFileSync(${JSON.stringify(log)}, process.argv.slice(2).join(' ') + '\\n')
linkPackages(process.cwd())
`

const timesSaid = (text: string, all: readonly Ended[]) =>
  all.map(({ stderr }) => stderr.split(text).length - 1).reduce((sum, count) => sum + count, 0)

describe('on a fresh clone', () => {
  let clone: Clone
  const installLog = () => join(clone.root, '.git/installs')
  beforeAll(() => {
    clone = createClone()
    writeFileSync(join(clone.root, '.git/npm-cli.ts'), installer(installLog()))
  })
  afterAll(() => clone[Symbol.dispose]())

  test('two commands at once install, generate and build once, and both run', async () => {
    const env = { npm_execpath: join(clone.root, '.git/npm-cli.ts') }
    const both = await Promise.all([
      clone.launch(['--build', '-e', 'console.log("first", process.versions.node)'], env),
      clone.launch(['--build', '-e', 'console.log("second"); process.exitCode = 3'], env),
    ])
    expect(both.map(({ status, stdout }) => ({ status, stdout }))).toEqual([
      { status: 0, stdout: expect.stringMatching(/^first 26\./) },
      { status: 3, stdout: 'second\n' },
    ])
    expect(readFileSync(installLog(), 'utf8').split('\n')).toEqual([expect.stringContaining('ci --include=dev --ignore-scripts'), ''])
    for (const step of ['installing packages', 'generating the types', 'building the web interface'])
      expect({ step, times: timesSaid(step, both) }).toEqual({ step, times: 1 })
    expect(existsSync(join(clone.root, '.next/BUILD_ID'))).toBe(true)
  }, 180_000)

  test('leaves the checkout clean', () => {
    expect(clone.status()).toBe('')
  })

  test('does nothing twice', async () => {
    expect(await clone.launch(['--build', '-e', ''])).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  test('what the browser gets is stale when its sources change, and not when tests do', async () => {
    const isBuilt = async () =>
      (
        await clone.launch(['--input-type=module', '-e', "console.log((await import('./scripts/launch-steps.js')).build.isDone())"])
      ).stdout.trim()
    expect(await isBuilt()).toBe('true')
    writeFileSync(join(clone.root, 'app/new.test.ts'), '')
    expect(await isBuilt()).toBe('true')
    writeFileSync(join(clone.root, 'server/model/new.ts'), '')
    expect(await isBuilt()).toBe('false')
  })
})
