import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

interface Order {
  readonly kind: string
}
type Message = { readonly id: number } & ({ readonly ok: object } | { readonly failed: string })

/** A process that takes orders over IPC. */
export interface Child<O extends Order, A> {
  readonly pid: number
  /** Rejects when the order failed there, or the process ended. */
  ask<K extends O['kind'] & keyof A>(order: Extract<O, { readonly kind: K }>): Promise<A[K]>
  stop(): Promise<void>
}

/** Runs `bench/xds/<file>`. */
export function startChild<O extends Order, A>(
  file: string,
  { args = [], execArgv = [] }: { readonly args?: readonly string[]; readonly execArgv?: readonly string[] } = {},
): Child<O, A> {
  const child: ChildProcess = fork(join(import.meta.dirname, file), [...args], {
    execArgv: [...process.execArgv, ...execArgv],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const asked = new Map<number, PromiseWithResolvers<never>>()
  let ids = 0
  let isStopping = false
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.on('message', (message: Message) => {
    const waiting = asked.get(message.id)
    asked.delete(message.id)
    if ('ok' in message) waiting?.resolve(message.ok as never)
    else waiting?.reject(new Error(`${file}: ${message.failed}`))
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of asked.values()) reject(new Error(`${file} ended with ${code ?? signal}`))
    if (!isStopping && code !== 0) console.error(`${file} ended with ${code ?? signal}`)
  })
  return {
    pid: child.pid ?? 0,
    ask(order) {
      const id = ids++
      const answer = Promise.withResolvers<never>()
      asked.set(id, answer)
      child.send({ id, order })
      return answer.promise
    },
    async stop() {
      isStopping = true
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

/** In the child: does what is asked, and ends when its parent does. */
export function answering<O extends Order>(obey: (order: O) => Promise<object>): void {
  process.on('message', ({ id, order }: { readonly id: number; readonly order: O }) => {
    obey(order).then(
      (ok) => process.send?.({ id, ok }),
      (error: unknown) => process.send?.({ id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
