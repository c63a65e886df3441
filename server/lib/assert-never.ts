/** Ends a switch over a union: a new variant then breaks the build wherever it matters. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected variant: ${JSON.stringify(value)}`)
}
