/** The header in which a browser or script says who is at work, percent-encoded UTF-8. */
export const OPERATOR_HEADER = 'x-tidewatch-operator'
const MAX_LENGTH = 64

/**
 * Who is written into the history of settings. Until there is a login this is what the caller says, so that two browsers can
 * be told apart; it proves nothing. Without a usable name: `operator@<remote address>`.
 */
export function callerName(claimed: string | readonly string[] | undefined, remoteAddress: string | undefined): string {
  const name = cleanName(typeof claimed === 'string' ? claimed : (claimed?.[0] ?? ''))
  return name === '' ? `operator@${plainAddress(remoteAddress)}` : name
}

/** Letters, digits, spaces and `. _ - @ '` of any script; one line; never longer than a table cell takes. */
function cleanName(text: string): string {
  const kept = decoded(text)
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N} ._@'-]/gu, '')
    .replaceAll(/ +/g, ' ')
  return Array.from(kept).slice(0, MAX_LENGTH).join('').trim()
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** An IPv4 address as such, also where a dual-stack socket writes it as IPv6. */
function plainAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:(?=\d+\.)/, '') ?? 'unknown'
}
