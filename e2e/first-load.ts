import { gzipSync } from 'node:zlib'

export interface FirstLoad {
  /** Bytes of all scripts that the page itself names, each compressed by gzip. */
  readonly gzipBytes: number
  /** Their text. */
  readonly scripts: readonly string[]
}

/** The JavaScript that a browser loads before the page works: what its HTML names, not what is loaded when it is needed. */
export async function firstLoadOf(url: string, path: string): Promise<FirstLoad> {
  const html = await (await fetch(url + path)).text()
  const files = new Set([...html.matchAll(/(?:src|href)="(\/_next\/static\/[^"]+\.js)[^"]*"(?![^>]*nomodule)/gi)].map(([, file]) => file!))
  const scripts = await Promise.all([...files].map(async (file) => (await fetch(url + file)).text()))
  return { gzipBytes: scripts.reduce((sum, script) => sum + gzipSync(script).length, 0), scripts }
}
