/** The pages, in the order of the navigation; `chord` is the key after g. */
export const destinations = [
  { href: '/', label: 'Overview', chord: 'o' },
  { href: '/insights', label: 'Insights', chord: 'i' },
  { href: '/sinks', label: 'Sinks', chord: 's' },
  { href: '/watchers', label: 'Watchers', chord: 'w' },
  { href: '/streams', label: 'Streams', chord: 't' },
  { href: '/conflicts', label: 'Conflicts', chord: 'c' },
] as const

export type Destination = (typeof destinations)[number]

export function destinationOf(pathname: string): Destination | undefined {
  return destinations.find(({ href }) => (href === '/' ? pathname === '/' : pathname === href || pathname.startsWith(`${href}/`)))
}
