import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface RecordedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An answer of the real API server, by its file's name in recorded/. Lengths and dates of the recording are left out of its headers. */
export function recordedAnswer(name: string): RecordedAnswer {
  const text = readFileSync(join(import.meta.dirname, '../recorded', name), 'utf8').replace(/^#.*\n/, '')
  if (!text.startsWith('HTTP/')) return { status: 200, headers: { 'content-type': 'application/json' }, body: text }
  const [head = '', ...rest] = text.split('\n\n')
  const [statusLine = '', ...lines] = head.split('\n')
  const headers = lines.map((line) => line.split(': ') as [string, string]).filter(([field]) => !['content-length', 'date'].includes(field))
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(headers.map(([field, value]) => [field, value.trim()])),
    body: rest.join('\n\n'),
  }
}

/** The JSON body of a recorded answer. */
export function recordedObject<T = Readonly<Record<string, unknown>>>(name: string): T {
  return JSON.parse(recordedAnswer(name).body) as T
}
