import { Worker } from 'node:worker_threads'
import { CoreError } from '../lib/errors.ts'
import type { WorkerAnswer, WorkerOptions } from './sqlite-worker-protocol.ts'
import type { StartThread } from './sqlite-writer.ts'

/** Starts sqlite-worker.ts in a thread of its own. */
export function sqliteThread(options: WorkerOptions): StartThread {
  return async ({ onAnswer, onEnd }) => {
    const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData: options })
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    let fault: string | undefined
    let isClosing = false
    worker.on('error', (error: unknown) => (fault = error instanceof Error ? error.message : String(error)))
    const first = await new Promise<WorkerAnswer>((resolve) => {
      worker.once('message', resolve)
      worker.once('exit', () => resolve({ kind: 'refused', message: endOf(options.path, fault) }))
    })
    if (first.kind !== 'ready') {
      await worker.terminate()
      throw new CoreError('unavailable', first.kind === 'refused' ? first.message : `${options.path} can't be used`)
    }
    worker.on('message', onAnswer)
    worker.once('exit', () => {
      if (!isClosing) onEnd(endOf(options.path, fault))
    })
    return {
      thread: {
        send: (request) => worker.postMessage(request),
        async close() {
          isClosing = true
          worker.postMessage('close')
          await exited
        },
      },
      highestVersion: first.highestVersion,
    }
  }
}

function endOf(path: string, fault: string | undefined): string {
  return `the thread that writes ${path} has ended${fault === undefined ? '' : ` (${fault})`}; the next write starts it again`
}
