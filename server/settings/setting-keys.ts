import { CoreError } from '../lib/errors.ts'
import {
  type LinkOverrideKey,
  type LinkTunableKey,
  type SettingKey,
  type TunableKey,
  type TunableSpec,
  tunables,
} from '../model/tunables.ts'

/** The names of settings: every tunable, and what a link has of its own (`link.<id>.<name>`). Pure. */

export function isTunableKey(key: string): key is TunableKey {
  return Object.hasOwn(tunables, key)
}

export interface LinkOverride {
  readonly link: string
  /** What it overrides. */
  readonly of: LinkTunableKey
}

/** Of an override, by that it follows the setting of all links: the same as having none. */
export const INHERIT = 'inherit'

const perLink = new Map(
  Object.entries<TunableSpec>(tunables)
    .filter(([, spec]) => spec.perLink === true)
    .map(([key]) => [lastPart(key), key as LinkTunableKey]),
)

export function overrideKey(link: string, of: LinkTunableKey): LinkOverrideKey {
  return `link.${link}.${lastPart(of)}`
}

/** What the key of an override names; undefined for any other. Whether there is such a link is not asked. */
export function toOverride(key: string): LinkOverride | undefined {
  const link = /^link\.(.+)\.[^.]+$/.exec(key)?.[1]
  const of = perLink.get(lastPart(key))
  return link === undefined || of === undefined || isTunableKey(key) ? undefined : { link, of }
}

export function isSettingKey(key: string): key is SettingKey {
  return isTunableKey(key) || toOverride(key) !== undefined
}

/** An override takes what its tunable takes, or "inherit". */
export function specOf(key: SettingKey): TunableSpec {
  if (isTunableKey(key)) return tunables[key]
  const { link, of } = toOverride(key)!
  const spec: TunableSpec = tunables[of]
  return {
    ...spec,
    default: INHERIT,
    word: INHERIT,
    description: `${spec.description} For the link ${link} alone; "${INHERIT}" follows ${of}.`,
  }
}

/** The key as a setting's, or `not_found` naming those it may have meant. `links`: the ids of those there are. */
export function toSettingKey(key: string, links: readonly string[]): SettingKey {
  if (isTunableKey(key)) return key
  const override = toOverride(key)
  if (override !== undefined && links.includes(override.link)) return key as LinkOverrideKey
  if (override !== undefined) throw unknownLink(key, override.link, links)
  const link = links.find((id) => key.startsWith(`link.${id}.`))
  if (link !== undefined) {
    const near = [...perLink.keys()].map((name) => `link.${link}.${name}`)
    throw new CoreError('not_found', `there is no setting "${key}"; a link may have its own ${[...perLink.keys()].join(', ')}`, {
      details: { key, near },
    })
  }
  const near = Object.keys(tunables)
    .map((known) => ({ known, distance: distance(known.toLowerCase(), key.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ known }) => known)
  throw new CoreError('not_found', `there is no setting "${key}"; did you mean ${near.join(', ')}?`, { details: { key, near } })
}

const LINKS_NAMED = 10

function unknownLink(key: string, link: string, links: readonly string[]): CoreError {
  const near = links
    .map((id) => ({ id, distance: distance(id, link) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, LINKS_NAMED)
    .map(({ id }) => id)
  const known = near.length === 0 ? 'none is configured' : `there are: ${near.join(', ')}`
  return new CoreError('not_found', `there is no link "${link}" to have a setting "${key}"; ${known}`, { details: { key, link, near } })
}

function lastPart(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1)
}

/** Edits from one text to the other; names are at most some hundred characters. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
