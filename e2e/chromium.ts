import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium as playwrightChromium } from '@playwright/test'

const modules = join(import.meta.dirname, '..', 'node_modules')

/** A Chromium to test with: the one asked for, else the one Playwright manages, else the one npm brought (Linux x64). */
export async function findChromium(): Promise<string> {
  const asked = process.env.TIDEWATCH_CHROMIUM
  if (asked !== undefined) return asked
  const managed = playwrightChromium.executablePath()
  return existsSync(managed) ? managed : unpackBundled()
}

/** @sparticuz/chromium unpacks into TMPDIR and believes any file named chromium there, whole or not, of whatever version: so a folder of our own, moved when complete. */
async function unpackBundled(): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz/chromium/package.json'), 'utf8')) as { version: string }
  const home = join(modules, '.cache', `chromium-${version}`)
  if (!existsSync(home)) {
    mkdirSync(join(modules, '.cache'), { recursive: true })
    const unpacking = mkdtempSync(join(modules, '.cache', 'unpack-'))
    const { TMPDIR } = process.env
    process.env.TMPDIR = unpacking
    await (await import('@sparticuz/chromium')).default.executablePath()
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
    writeFileSync(
      join(unpacking, 'fonts.conf'),
      `<?xml version="1.0"?><fontconfig><dir>${home}/fonts/fonts</dir><cachedir>${home}/fonts-cache</cachedir></fontconfig>`,
    )
    try {
      renameSync(unpacking, home)
    } catch {
      rmSync(unpacking, { recursive: true })
    }
  }
  process.env.FONTCONFIG_FILE = join(home, 'fonts.conf')
  return join(home, 'chromium')
}
