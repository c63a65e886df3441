import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ResourceKey, Version } from '../model/resource.ts'
import { createChangeFeed } from './change-feed.ts'
import type { ResourceChange } from './resource-store.ts'

const key: ResourceKey = { type: 'T', mesh: '', name: 'a' }
const change = (version: number): ResourceChange => ({ kind: 'deleted', key, version: String(version) as Version })
const versionOf = (result: IteratorResult<ResourceChange>) => {
  if (result.done === true) return 'end'
  return result.value.kind === 'deleted' ? Number(result.value.version) : result.value.kind
}

describe('a change feed', () => {
  it('keeps what was published before the first pull, and the order over many pulls', async () => {
    const feed = createChangeFeed()
    const { signal } = new AbortController()
    const reader = feed.subscribe(signal)[Symbol.asyncIterator]()
    for (let version = 0; version < 5_000; version += 5) feed.publish([0, 1, 2, 3, 4].map((n) => change(version + n)))
    for (let version = 0; version < 5_000; version++) expect(versionOf(await reader.next())).toBe(version)
    feed.close()
    expect(versionOf(await reader.next())).toBe('end')
    expect(feed.readers()).toBe(0)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('never makes a reader resync that is only slow, however long', async () => {
    const feed = createChangeFeed(100)
    const reader = feed.subscribe(new AbortController().signal)[Symbol.asyncIterator]()
    let published = 0
    while (published < 90) feed.publish([change(published++)])
    for (let taken = 0; taken < 10_000; taken++) {
      feed.publish([change(published++)])
      expect(versionOf(await reader.next())).toBe(taken)
    }
    feed.close()
  })

  it('tells one that is too slow to read everything again, once, and the others what happened', async () => {
    const feed = createChangeFeed(3)
    const ending = new AbortController()
    const slow = feed.subscribe(ending.signal)[Symbol.asyncIterator]()
    const fast = feed.subscribe(ending.signal)[Symbol.asyncIterator]()
    const seen: unknown[] = []
    for (let version = 0; version < 5; version++) {
      feed.publish([change(version)])
      seen.push(versionOf(await fast.next()))
    }
    expect(seen).toEqual([0, 1, 2, 3, 4])
    expect([versionOf(await slow.next()), versionOf(await slow.next())]).toEqual(['resync', 4])
    ending.abort()
    expect([versionOf(await slow.next()), versionOf(await fast.next())]).toEqual(['end', 'end'])
    expect(feed.readers()).toBe(0)
  })

  it('leaves nothing behind of a reader that aborted before, never pulled, or stopped by itself', async () => {
    const feed = createChangeFeed()
    const never = new AbortController()
    feed.subscribe(never.signal)
    expect(feed.readers()).toBe(1)
    never.abort()
    feed.subscribe(AbortSignal.abort())
    expect(feed.readers()).toBe(0)
    const { signal } = new AbortController()
    const stopping = feed.subscribe(signal)
    feed.publish([change(1), change(2)])
    for await (const _first of stopping) break
    expect(feed.readers()).toBe(0)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
