/** What to tell about a failed question: the answer's own words, or that there was none. */
export function problemText(error: unknown): string {
  return codeOf(error) === undefined
    ? 'Tidewatch does not answer. It is asked again as soon as it does.'
    : (error as { readonly message: string }).message
}

/** The core's code of an error that the server answered with; undefined when it did not answer. */
export function codeOf(error: unknown): string | undefined {
  return (error as { readonly data?: { readonly code?: string } | null } | null)?.data?.code
}
