import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../lib/clock.ts'
import { isRecord, textIn } from '../lib/json-fields.ts'
import type { LinkAttempt } from '../link/connector.ts'
import { isLinkFailure, LinkFailure } from '../link/link-failure.ts'
import type { KumaConfig } from './kuma-config.ts'
import { errorWord, notKuma, toConnectionFailure, toRefusal } from './request-failure.ts'

type Asking = Pick<LinkAttempt, 'signal' | 'request'>

/** Reads from one control plane, as one attempt of a link does. All reject with a LinkFailure, or the signal's reason. */
export interface KumaClient {
  /** An object of JSON. */
  read(path: string, attempt: Asking): Promise<Readonly<Record<string, unknown>>>
  /** All rows of a list, each once. Undefined when it is not there: a mesh that has gone, a path that this version does not have. */
  list(path: string, attempt: Asking): Promise<readonly unknown[] | undefined>
  /** The text of the Prometheus endpoint. */
  metrics(url: string, attempt: Asking): Promise<string>
}

/** Their largest. */
const PAGE = 1_000
/** They give up writing an answer after 30 s. */
const ANSWER_WITHIN_MS = 30_000
const MAX_BODY_BYTES = 128 << 20
/** Rows that come while pages are read shift them: an end that never comes is not followed for ever. */
const MAX_PAGES = 1_000

export function createKumaClient(config: KumaConfig, clock: Clock): KumaClient {
  const base = config.url.replace(/\/+$/, '')

  return {
    async read(path, attempt) {
      const { code, body, retryAfter } = await get(path, attempt)
      if (code !== 200) throw toRefusal(code, body, { path, retryAfter, asked: config })
      return parsed(body, path)
    },
    async list(path, attempt) {
      const rows = new Map<string, unknown>()
      let offset: number | undefined = 0
      for (let page = 0; offset !== undefined && page < MAX_PAGES; page++) {
        const paged = `${path}?size=${PAGE}${offset === 0 ? '' : `&offset=${offset}`}`
        const { code, body, retryAfter } = await get(paged, attempt)
        if (code === 404) return undefined
        if (code !== 200) throw toRefusal(code, body, { path, retryAfter, asked: config })
        const answer = parsed(body, path)
        if (!Array.isArray(answer['items'])) throw notKuma(path, config)
        // A row that is made or removed meanwhile moves all after it: the same may come on two pages.
        for (const item of answer['items']) rows.set(`${textIn(item, 'mesh') ?? ''}/${textIn(item, 'name') ?? rows.size}`, item)
        offset = offsetAfter(answer['next'], offset)
      }
      return [...rows.values()]
    },
    async metrics(url, attempt) {
      const { code, body } = await send(new URL(url), { token: undefined, asked: { ...config, url }, attempt })
      if (code === 200) return body
      throw new LinkFailure('protocol', `HTTP ${code} of ${url}`)
    },
  }

  async function get(path: string, attempt: Asking): Promise<Answer> {
    const token = await readToken()
    const sendWith = (bearer: string | undefined) => send(new URL(`${base}${path}`), { token: bearer, asked: config, attempt })
    const answer = await sendWith(token)
    // It may have been renewed while we asked.
    if (answer.code !== 401 || token === undefined) return answer
    const again = await readToken()
    return again === token ? answer : sendWith(again)
  }

  async function readToken(): Promise<string | undefined> {
    if (config.tokenFile === undefined) return undefined
    try {
      return (await readFile(config.tokenFile, 'utf8')).trim()
    } catch (error) {
      throw new LinkFailure('unauthorized', `the token file ${config.tokenFile} can't be read: ${(error as Error).message}`, {
        hint: `Put a token of the control plane into ${config.tokenFile}, readable for Tidewatch, or remove tokenFile of "${config.id}": without a token everything that is asked for may be read.`,
        cause: error,
      })
    }
  }

  function parsed(body: string, path: string): Readonly<Record<string, unknown>> {
    try {
      const value: unknown = JSON.parse(body)
      if (isRecord(value)) return value
    } catch {
      // Said below.
    }
    throw notKuma(path, config)
  }

  async function send(url: URL, { token, asked, attempt }: Sending): Promise<Answer> {
    attempt.signal.throwIfAborted()
    try {
      const answer = await exchangeAnew(url, token, attempt.signal)
      attempt.request('poll', answer.code)
      return answer
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason
      if (isLinkFailure(error)) throw error
      attempt.request('poll', errorWord(error))
      throw toConnectionFailure(error, asked)
    }
  }

  /** The server closes a connection that was kept for long, at times just as it is used again: then once more, on a new one. */
  async function exchangeAnew(url: URL, token: string | undefined, signal: AbortSignal): Promise<Answer> {
    try {
      return await exchange(url, token, signal)
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error
      return exchange(url, token, signal)
    }
  }

  function exchange(url: URL, token: string | undefined, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = {
        accept: 'application/json',
        'user-agent': 'tidewatch',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      }
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, { headers, signal })
      const timer = clock.at(clock.monotonic() + ANSWER_WITHIN_MS, () =>
        request.destroy(Object.assign(new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`), { code: 'ETIMEDOUT' })),
      )
      request.on('response', (response) => {
        bodyOf(response)
          .then((body) => resolve({ code: response.statusCode ?? 0, body, retryAfter: response.headers['retry-after'] }), reject)
          .finally(() => timer.cancel())
      })
      request.on('error', (error) => {
        timer.cancel()
        reject(request.reusedSocket && errorWord(error) === 'ECONNRESET' ? new StaleConnection(error.message) : error)
      })
      request.end()
    })
  }
}

class StaleConnection extends Error {
  override readonly name = 'StaleConnection'
}

interface Sending {
  readonly token: string | undefined
  /** Whom failures name. */
  readonly asked: KumaConfig
  readonly attempt: Asking
}

interface Answer {
  readonly code: number
  readonly body: string
  readonly retryAfter: string | undefined
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) {
      response.destroy()
      throw new LinkFailure('protocol', `an answer of more than ${MAX_BODY_BYTES >> 20} MiB`)
    }
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** `next` is made of the Host we asked for, and behind a proxy points elsewhere: only its offset counts, and only if it goes on. */
function offsetAfter(next: unknown, present: number): number | undefined {
  if (typeof next !== 'string') return undefined
  const offset = Number(URL.parse(next, 'http://next')?.searchParams.get('offset') ?? Number.NaN)
  return Number.isInteger(offset) && offset > present ? offset : undefined
}
