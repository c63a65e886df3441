export interface LinkClick {
  readonly target: unknown
  readonly button: number
  readonly altKey: boolean
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly shiftKey: boolean
}

interface Link {
  readonly href: string
  readonly target: string
  hasAttribute(name: string): boolean
}

/** Where a click would take this tab, as a path of this site; undefined where it would not leave the page, or not in this tab. */
export function heldHrefOf(click: LinkClick, here: string): string | undefined {
  if (click.button !== 0 || click.altKey || click.ctrlKey || click.metaKey || click.shiftKey) return undefined
  const link = linkOf(click.target)
  if (link === undefined || link.hasAttribute('download') || (link.target !== '' && link.target !== '_self')) return undefined
  const [to, from] = [new URL(link.href), new URL(here)]
  if (to.origin !== from.origin) return undefined
  const path = to.pathname + to.search
  return path === from.pathname + from.search ? undefined : path
}

/** Shaped, not typed: there are elements of other documents, and of tests. */
function linkOf(target: unknown): Link | undefined {
  const { closest } = (target ?? {}) as { readonly closest?: (selector: string) => Link | null }
  return closest?.call(target, 'a[href]') ?? undefined
}
