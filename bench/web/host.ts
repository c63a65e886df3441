import { fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import type { HostOrder } from './live-host.ts'

export interface Usage {
  readonly cpuMs: number
  readonly lags: readonly number[]
  readonly changes: number
  readonly sentBytes: number
  readonly sockets: number
}
interface Answers {
  readonly load: object
  readonly touch: { readonly stored: readonly { readonly writer: string; readonly at: number }[] }
  readonly poll: { readonly bytes: number; readonly cpuMs: number }
  readonly usage: Usage
  readonly check: { readonly problems: readonly string[] }
}

/** The measured process, apart from this one: what measures costs it nothing. */
export interface Host {
  readonly url: string
  ask<K extends HostOrder['kind']>(order: Extract<HostOrder, { readonly kind: K }>): Promise<Answers[K]>
  /** Throws when what the pages are shown is not what is stored. */
  check(): Promise<void>
  stop(): void
}

export async function startHost(rows: number, perSecond: number): Promise<Host> {
  const child = fork(join(import.meta.dirname, 'live-host.ts'), [String(rows), String(perSecond)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the measured process ended with ${code} before it listened`)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) resolve((JSON.parse(line) as { readonly url: string }).url)
    })
  })
  let last: Promise<unknown> = Promise.resolve()
  const host: Host = {
    url,
    ask(order) {
      // One at a time: answers carry no name but their kind.
      const answer = last.then(
        () =>
          new Promise<never>((resolve) => {
            child.once('message', (message) => resolve(message as never))
            child.send(order)
          }),
      )
      last = answer
      return answer
    },
    async check() {
      const { problems } = await host.ask({ kind: 'check' })
      if (problems.length > 0) throw new Error(problems.join('; '))
    },
    stop: () => child.disconnect(),
  }
  return host
}

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
