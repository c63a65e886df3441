// Loaded before the product, and so into its writing thread: while there is a file slow-disk beside its database, a commit takes 300 ms longer.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isMainThread, workerData } from 'node:worker_threads'

const COMMIT_MS = 300
if (!isMainThread && typeof workerData?.lockPath === 'string') {
  const mark = join(dirname(workerData.lockPath), 'slow-disk')
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function slowExec(sql) {
    if (sql === 'COMMIT' && existsSync(mark)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, COMMIT_MS)
    return exec.call(this, sql)
  }
}
