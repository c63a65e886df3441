/** One line for an operator: what is wrong with a file of the store, and what would help. */
export function explainFault(error: unknown, file: string): string {
  const { errcode, message } = error as { errcode?: number; message?: string }
  switch (primaryCode(errcode)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return `${file} is in use by another process: stop that one, or use another --data-dir`
    case SQLITE_READONLY:
      return `${file} can't be written (read-only): make it and its folder writable, or use another --data-dir`
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(file, 'it is not, or no longer, a Tidewatch store')
    case SQLITE_FULL:
      return `no space is left for ${file}: free some on its disk; what could not be written is tried again`
    case SQLITE_IOERR:
      return `${file} can't be read or written (${message ?? 'input/output error'}): look after its disk; what could not be written is tried again`
    case SQLITE_CANTOPEN:
      return `${file} can't be opened: make it and its folder readable and writable, or use another --data-dir`
    default:
      return `${file} can't be used: ${oneLine(message ?? String(error))}`
  }
}

export function damaged(file: string, how: string): string {
  return `${file} is damaged (${oneLine(how)}): restore it from a backup, or move it away to start anew`
}

/** Result codes of SQLite (https://sqlite.org/rescode.html); extended ones carry theirs in the low byte. */
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_READONLY = 8
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26

function primaryCode(code: number | undefined): number {
  return (code ?? 0) & 0xff
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
