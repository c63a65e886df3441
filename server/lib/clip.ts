/** A peer's words for a message or a log: no more of them than a person reads, and no half of a character. */
export function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`
}
