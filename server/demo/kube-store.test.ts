import { expect, test } from 'vitest'
import { createKubeStore } from './kube-store.ts'

const pod = (name: string) => ({ metadata: { name, namespace: 'shop' } })
const versionsOf = (changes: readonly { readonly type: string; readonly version: number }[] | 'expired') =>
  changes === 'expired' ? changes : changes.map(({ type, version }) => `${type} ${version}`)

test('each change has the next version, and is kept for who saw what was before it', () => {
  const store = createKubeStore({ firstVersion: 10, window: 100 })
  store.put('pods', pod('a'))
  store.put('nodes', pod('n'))
  store.put('pods', pod('a'))
  store.remove('pods', 'shop/a')
  store.remove('pods', 'shop/a')
  expect(versionsOf(store.since('pods', 10))).toEqual(['ADDED 11', 'MODIFIED 13', 'DELETED 14'])
  expect(versionsOf(store.since('pods', 13))).toEqual(['DELETED 14'])
  expect(store.version()).toBe(14)
})

test('of what fell out of the window nobody can go on, from the oldest kept one on they can', () => {
  const store = createKubeStore({ firstVersion: 10, window: 2 })
  for (const name of ['a', 'b', 'c']) store.put('pods', pod(name))
  expect(store.since('pods', 10)).toBe('expired')
  expect(versionsOf(store.since('pods', 11))).toEqual(['ADDED 12', 'ADDED 13'])
})

test('a list that is read by pages stays as it was, until sixteen others came after it', () => {
  const store = createKubeStore({ firstVersion: 0, window: 100 })
  store.put('pods', pod('a'))
  store.keepSnapshot('pods')
  for (let lists = 0; lists < 15; lists++) {
    store.put('pods', pod(`p-${lists}`))
    store.keepSnapshot('pods')
  }
  expect(store.snapshot('pods', 1)?.map(({ metadata }) => metadata.name)).toEqual(['a'])
  store.put('pods', pod('last'))
  store.keepSnapshot('pods')
  expect(store.snapshot('pods', 1)).toBeUndefined()
})

test('a backup knows nothing of what came after it, and its versions are lower', () => {
  const store = createKubeStore({ firstVersion: 1_000, window: 100 })
  store.put('pods', pod('a'))
  const restore = store.backup(5)
  store.put('pods', pod('b'))
  restore()
  expect(store.list('pods').map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)).toEqual(['a 6'])
  expect(store.version()).toBe(6)
  expect(store.since('pods', 5)).toBe('expired')
  expect(store.since('pods', 1_002)).toEqual([])
})
