import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../lib/clock.ts'
import type { LinkAttempt, LinkVerb } from '../link/connector.ts'
import { isLinkFailure } from '../link/link-failure.ts'
import { errorWord, toConnectionFailure } from './connection-failure.ts'
import type { Credentials, KubeContext } from './kube-contexts.ts'

/** GET requests to one API server, as one attempt of a link makes them. */
export interface KubeClient {
  /**
   * Resolves once the server answered, whatever it answered; after 401 with credentials read anew, once. Rejects with a LinkFailure
   * when nothing answered, and with the signal's reason when the attempt ends.
   */
  get(path: string, options: GetOptions): Promise<KubeAnswer>
  readonly endpoint: { readonly server: string; readonly context: string }
}
export interface GetOptions {
  readonly attempt: Pick<LinkAttempt, 'signal' | 'request'>
  /** What it counts as. */
  readonly verb: LinkVerb
}
export interface KubeAnswer {
  readonly code: number
  readonly header: (name: string) => string | undefined
  /** As it comes; ends with an error when the connection breaks. Silence for longer than `limitMs` ends it with a timeout. */
  chunks(limitMs: () => number): AsyncIterable<Buffer>
  /** The whole body, at most `MAX_BODY_BYTES` of it. */
  text(): Promise<string>
  /** Ends it; harmless when it has ended. */
  close(): void
}

/** How long a server may take to begin its answer: a list of everything takes seconds where there is much. */
const ANSWER_WITHIN_MS = 30_000
/** A page of 500 objects of 1.5 MiB is more than any server sends at once. */
const MAX_BODY_BYTES = 256 << 20
const LOOK_EVERY_MS = 1_000
const UNAUTHORIZED = 401
const agentHeaders = { accept: 'application/json', 'user-agent': 'tidewatch' }

/** Nothing came for longer than it may. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError'
}

export function createKubeClient(context: KubeContext, clock: Clock): KubeClient {
  const endpoint = { server: context.server, context: context.name }

  return {
    endpoint,
    async get(path, { attempt, verb }) {
      for (let tries = 1; ; tries++) {
        attempt.signal.throwIfAborted()
        const credentials = await context.credentials()
        try {
          const response = await send(path, credentials, attempt.signal)
          const code = response.statusCode ?? 0
          attempt.request(verb, code)
          if (code !== UNAUTHORIZED || tries > 1) return toAnswer(response)
          response.destroy()
          context.refresh(credentials)
        } catch (error) {
          if (attempt.signal.aborted) throw attempt.signal.reason
          if (isStaleConnection(error) && tries === 1) continue
          if (isLinkFailure(error)) throw error
          attempt.request(verb, errorWord(error))
          throw toConnectionFailure(error, endpoint)
        }
      }
    },
  }

  function send(path: string, { options }: Credentials, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const url = new URL(`${context.server}${path}`)
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        ...options,
        headers: { ...(options.headers as Record<string, string>), ...agentHeaders },
        signal,
      })
      const timer = clock.at(clock.monotonic() + ANSWER_WITHIN_MS, () =>
        request.destroy(Object.assign(new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`), { code: 'ETIMEDOUT' })),
      )
      request.on('response', (response) => {
        timer.cancel()
        resolve(response)
      })
      request.on('error', (error) => {
        timer.cancel()
        // The server closed a connection that was kept just as it was used again.
        reject(request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET' ? new StaleConnection(error) : error)
      })
      request.end()
    })
  }

  function toAnswer(response: IncomingMessage): KubeAnswer {
    return {
      code: response.statusCode ?? 0,
      header: (name) => {
        const value = response.headers[name]
        return Array.isArray(value) ? value[0] : value
      },
      chunks: (limitMs) => chunksOf(response, limitMs, clock),
      async text() {
        const parts: Buffer[] = []
        let bytes = 0
        for await (const chunk of chunksOf(response, () => ANSWER_WITHIN_MS, clock)) {
          bytes += chunk.length
          if (bytes > MAX_BODY_BYTES) throw new Error(`an answer of more than ${MAX_BODY_BYTES >> 20} MiB`)
          parts.push(chunk)
        }
        return Buffer.concat(parts).toString('utf8')
      },
      close: () => void response.destroy(),
    }
  }
}

class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    Object.assign(this, { code: (cause as NodeJS.ErrnoException).code })
  }
}
function isStaleConnection(error: unknown): boolean {
  return error instanceof StaleConnection
}

async function* chunksOf(response: IncomingMessage, limitMs: () => number, clock: Clock): AsyncGenerator<Buffer> {
  let heardAt = clock.monotonic()
  let timer = arm()
  // Not armed with each chunk: it looks now and then when the last one was, and what the limit is by then.
  function arm() {
    return clock.at(Math.min(heardAt + limitMs(), clock.monotonic() + LOOK_EVERY_MS), () => {
      if (clock.monotonic() - heardAt >= limitMs()) response.destroy(new SilenceError(`nothing came for ${limitMs()} ms`))
      else timer = arm()
    })
  }
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      heardAt = clock.monotonic()
      yield chunk
      // What takes us long is not the server's silence.
      heardAt = clock.monotonic()
    }
  } finally {
    timer.cancel()
  }
}
