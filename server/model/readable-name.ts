/** Neither spaces, control and invisible characters, nor what bytes that are not UTF-8 are read as: names are keys, and people read them. */
const UNREADABLE = /[\p{C}\p{Z}\uFFFD]/u

export function isReadableName(name: string): boolean {
  return !UNREADABLE.test(name)
}
