import { readFileSync } from 'node:fs'
import { createTRPCClient, httpLink } from '@trpc/client'
import { parseAllDocuments, stringify } from 'yaml'
import type { AppRouter } from '../api/router.ts'
import type { RestForm } from '../model/rest-form.ts'
import { type Arguments, UsageError } from './arguments.ts'
import { toTable } from './table.ts'

/** What a command printed goes to stdout; a failed document of several is told beside it. */
export interface Outcome {
  readonly text: string
  readonly failed: boolean
}

export const usage = `Tidewatch from a terminal, over the same API as its pages.

  tidewatch get TYPE [NAME] [-m MESH]          resources, for example: get MeshTimeout -m default
  tidewatch apply -f FILE                      creates or updates; YAML or JSON, several documents, "-" = standard input
  tidewatch delete TYPE NAME [-m MESH]
  tidewatch insights list [--type T] [-m MESH]
  tidewatch sinks list
  tidewatch settings list
  tidewatch settings set KEY VALUE [--reason TEXT]
  tidewatch sessions list
  tidewatch sessions resync ID [--type T]
  tidewatch links list
  tidewatch links retry|pause|resume ID [--reason TEXT]

  --url URL           of Tidewatch, default http://127.0.0.1:7680
  -o table|json|yaml  default table
`

type Api = ReturnType<typeof connect>

/** Runs one command. Throws UsageError, or what the API answered. */
export async function runCommand(args: Arguments): Promise<Outcome> {
  const api = connect(args.url)
  const [noun, verb, ...rest] = args.words
  switch (`${noun ?? ''} ${verb ?? ''}`) {
    case 'sinks list':
      return sinks(api, args)
    case 'settings list':
      return settings(api, args)
    case 'settings set':
      return setSetting(api, args, rest)
    case 'sessions list':
      return sessions(api, args)
    case 'sessions resync': {
      const { type } = args
      await api.sessions.resync.mutate({
        id: wanted(rest[0], 'the id of a session: sessions list names them'),
        ...(type !== undefined && { type }),
      })
      return done('sent again')
    }
    case 'links list':
      return links(api, args)
    case 'links retry':
      await api.links.retryNow.mutate({ id: wantedLink(rest) })
      return done('tried now')
    case 'links pause': {
      const { reason } = args
      await api.links.pause.mutate({ id: wantedLink(rest), ...(reason !== undefined && { reason }) })
      return done('paused')
    }
    case 'links resume':
      await api.links.resume.mutate({ id: wantedLink(rest) })
      return done('resumed')
    case 'insights list':
      return insights(api, args)
  }
  if (noun === 'get') return get(api, args, [verb, ...rest])
  if (noun === 'apply') return apply(api, args)
  if (noun === 'delete') return remove(api, args, [verb, ...rest])
  throw new UsageError(
    noun === undefined ? 'no command; --help lists them' : `there is no command "${args.words.join(' ')}"; --help lists them`,
  )
}

function connect(url: string) {
  return createTRPCClient<AppRouter>({ links: [httpLink({ url: `${url}/api/trpc`, headers: { 'x-tidewatch-operator': 'cli' } })] })
}

async function get(api: Api, args: Arguments, [type, name]: readonly (string | undefined)[]): Promise<Outcome> {
  const key = { type: wanted(type, 'a TYPE, for example: get Mesh'), mesh: args.mesh ?? '', name: name ?? '' }
  if (name !== undefined) {
    const { resource } = await api.resources.get.query({ key })
    return print(args.output === 'table' ? { ...args, output: 'yaml' } : args, resource, () => '')
  }
  const items: RestForm[] = []
  let cursor: string | undefined
  do {
    const page = await api.resources.list.query({
      type: key.type,
      ...(args.mesh !== undefined && { mesh: args.mesh }),
      ...(cursor !== undefined && { cursor }),
      limit: 1000,
    })
    items.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return print(args, items, () =>
    toTable(
      ['MESH', 'NAME', 'ORIGIN', 'VERSION', 'MODIFIED'],
      items.map((each) => [each.mesh ?? null, each.name, originOf(each), textOf(each['version']), textOf(each['modificationTime'])]),
    ),
  )
}

async function apply(api: Api, { files, version }: Arguments): Promise<Outcome> {
  if (files.length === 0) throw new UsageError('apply needs -f FILE, or -f - for standard input')
  const lines: string[] = []
  let failed = false
  for (const file of files) {
    for (const resource of documentsOf(file)) {
      const named = `${resource.type} ${resource.mesh === undefined ? '' : `${resource.mesh}/`}${resource.name}`
      try {
        const { outcome } = await api.resources.apply.mutate({ resource, ...(version !== undefined && { expectedVersion: version }) })
        lines.push(`${named}: ${outcome}`)
      } catch (error) {
        // The others are applied all the same.
        failed = true
        lines.push(`${named}: not applied: ${(error as Error).message}`)
      }
    }
  }
  return { text: lines.join('\n'), failed }
}

async function remove(api: Api, { mesh = '', version }: Arguments, [type, name]: readonly (string | undefined)[]): Promise<Outcome> {
  const key = { type: wanted(type, 'a TYPE and a NAME'), mesh, name: wanted(name, 'a NAME: delete TYPE NAME') }
  await api.resources.delete.mutate({ key, ...(version !== undefined && { expectedVersion: version }) })
  return done(`${key.type} ${mesh === '' ? '' : `${mesh}/`}${key.name}: deleted`)
}

async function sinks(api: Api, args: Arguments): Promise<Outcome> {
  const { items } = await api.sinks.list.query()
  return print(args, items, () =>
    toTable(
      ['SINK', 'INTERVAL', 'SESSIONS', 'WRITES/S', 'WRITTEN', 'CONFLICT', 'ERROR', 'LAG P99'],
      items.map(({ name, intervalMs, sessions: count, writesPerSecond, flushes, lagMs }) => [
        name,
        `${intervalMs} ms`,
        count,
        writesPerSecond.toFixed(1),
        flushes.written,
        flushes.conflict,
        flushes.error,
        `${Math.round(lagMs.p99)} ms`,
      ]),
    ),
  )
}

async function settings(api: Api, args: Arguments): Promise<Outcome> {
  const { items } = await api.settings.list.query()
  return print(args, items, () =>
    toTable(
      ['SETTING', 'VALUE', 'DEFAULT', 'UNIT', 'VERSION', 'BY'],
      items.map((each) => [each.key, String(each.value), String(each.default), each.unit, each.version, each.modifiedBy]),
    ),
  )
}

async function setSetting(api: Api, args: Arguments, [key, text]: readonly string[]): Promise<Outcome> {
  const name = wanted(key, 'a KEY and a VALUE: settings list names the keys')
  const { items } = await api.settings.list.query()
  const present = items.find((each) => each.key === name)
  if (present === undefined) throw new UsageError(`there is no setting "${name}"; settings list names them`)
  const value = toValue(wanted(text, `a VALUE for ${name}`))
  const { setting } = await api.settings.apply.mutate({
    key: name,
    value,
    expectedVersion: args.version ?? present.version,
    ...(args.reason !== undefined && { reason: args.reason }),
  })
  return done(`${setting.key}: ${String(present.value)} -> ${String(setting.value)} (version ${setting.version})`)
}

async function sessions(api: Api, args: Arguments): Promise<Outcome> {
  const { items } = await api.sessions.list.query()
  return print(args, items, () =>
    toTable(
      ['ID', 'PROTOCOL', 'SUBJECT', 'DIRECTION', 'TYPES', 'REJECTED'],
      items.map(({ id, protocol, subject, direction, types }) => [
        id,
        protocol,
        `${subject.type} ${subject.mesh === '' ? '' : `${subject.mesh}/`}${subject.name}`,
        direction,
        types.length,
        types
          .filter(({ status }) => status === 'rejected')
          .map(({ type }) => type)
          .join(' '),
      ]),
    ),
  )
}

async function links(api: Api, args: Arguments): Promise<Outcome> {
  const { items } = await api.links.list.query()
  return print(args, items, () =>
    toTable(
      ['LINK', 'KIND', 'ENDPOINT', 'STATE', 'HEALTH', 'LAST ERROR'],
      items.map(({ id, kind, endpoint, state, health, lastError }) => [
        id,
        kind,
        endpoint,
        state.kind,
        health,
        lastError === null ? null : `${lastError.class}: ${lastError.message}`,
      ]),
    ),
  )
}

async function insights(api: Api, args: Arguments): Promise<Outcome> {
  const { items } = await api.insights.list.query({
    ...(args.type !== undefined && { type: args.type }),
    ...(args.mesh !== undefined && { mesh: args.mesh }),
    sort: 'worst',
    limit: 1000,
  })
  return print(args, items, () =>
    toTable(
      ['FRESHNESS', 'TYPE', 'MESH', 'NAME', 'PENDING', 'CADENCE', 'REJECTS'],
      items.map(({ freshness, key, pendingMs, cadenceMs, nacked }) => [
        freshness,
        key.type,
        key.mesh,
        key.name,
        `${pendingMs} ms`,
        `${cadenceMs} ms`,
        nacked.join(' '),
      ]),
    ),
  )
}

function print({ output }: Arguments, value: unknown, table: () => string): Outcome {
  const text = output === 'json' ? JSON.stringify(value, null, 2) : output === 'yaml' ? stringify(value).trimEnd() : table()
  return done(text)
}

function done(text: string): Outcome {
  return { text, failed: false }
}

function documentsOf(file: string): readonly RestForm[] {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} can't be read: ${(error as Error).message}`)
  }
  return parseAllDocuments(text).flatMap((document, index) => {
    const [fault] = document.errors
    if (fault !== undefined) throw new UsageError(`${file}, document ${index + 1}: ${fault.message.split('\n')[0]}`)
    const value = document.toJS() as RestForm | null
    if (value === null) return []
    const { type, name } = value as Partial<Record<'type' | 'name', unknown>>
    if (typeof type !== 'string' || typeof name !== 'string')
      throw new UsageError(`${file}, document ${index + 1}: a resource needs "type" and "name", for example { type: Mesh, name: default }`)
    return [value]
  })
}

function wanted(word: string | undefined, what: string): string {
  if (word === undefined) throw new UsageError(`the command needs ${what}`)
  return word
}

function wantedLink([id]: readonly string[]): string {
  return wanted(id, 'the id of a link: links list names them')
}

function toValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

function originOf({ labels }: RestForm): string | null {
  const zone = labels?.['kuma.io/zone']
  return zone === undefined ? (labels?.['kuma.io/origin'] ?? null) : `zone ${zone}`
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
