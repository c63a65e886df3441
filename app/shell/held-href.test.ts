import { describe, expect, it } from 'vitest'
import { heldHrefOf, type LinkClick } from './held-href.ts'

const HERE = 'http://tidewatch.test/insights?q=web'
const link = (href: string, { target = '', attributes = [] as readonly string[] } = {}) => {
  const anchor = { href: new URL(href, HERE).href, target, hasAttribute: (name: string) => attributes.includes(name) }
  return { closest: (selector: string) => (selector === 'a[href]' ? anchor : null) }
}
const click = (target: unknown, more: Partial<LinkClick> = {}): LinkClick => ({
  target,
  button: 0,
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  ...more,
})

describe('a click on a link', () => {
  it.each([
    ['/', '/'],
    ['/sinks?tune=dataplane', '/sinks?tune=dataplane'],
    ['/insights', '/insights'],
    ['/sinks#main', '/sinks'],
  ])('to %s leads this tab to %s', (href, path) => expect(heldHrefOf(click(link(href)), HERE)).toBe(path))

  it.each([
    ['into the page itself', click(link('#main'))],
    ['to where one is', click(link('/insights?q=web'))],
    ['to another site', click(link('https://example.com/'))],
    ['to a new tab', click(link('/sinks', { target: '_blank' }))],
    ['to a new tab, by key', click(link('/sinks'), { ctrlKey: true })],
    ['to a new window, by key', click(link('/sinks'), { shiftKey: true })],
    ['with another button', click(link('/sinks'), { button: 1 })],
    ['to a file', click(link('/rows.csv', { attributes: ['download'] }))],
    ['beside any link', click({ closest: () => null })],
    ['on no element', click(null)],
  ])('%s does not leave the page', (_, each) => expect(heldHrefOf(each, HERE)).toBeUndefined())
})
