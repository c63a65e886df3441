import { expect, it } from 'vitest'
import { createTopic } from './topic.ts'

it('tells all listeners at once, in the order they came, until their signal aborts', () => {
  const topic = createTopic<number>()
  const seen: string[] = []
  const first = new AbortController()
  const second = new AbortController()
  topic.subscribe((event) => seen.push(`a${event}`), first.signal)
  topic.subscribe((event) => seen.push(`b${event}`), second.signal)
  topic.publish(1)
  first.abort()
  topic.publish(2)
  expect(seen).toEqual(['a1', 'b1', 'b2'])
  expect(topic.size()).toBe(1)
  second.abort()
  topic.subscribe((event) => seen.push(`c${event}`), second.signal)
  expect(topic.size()).toBe(0)
})

it('tells a listener only what was published after it came, and nothing after it left, also in the midst of an event', () => {
  const topic = createTopic<number>()
  const seen: string[] = []
  const leaving = new AbortController()
  const { signal } = new AbortController()
  topic.subscribe(() => {
    leaving.abort()
    topic.subscribe((event) => seen.push(`late ${event}`), signal)
  }, signal)
  topic.subscribe((event) => seen.push(`left ${event}`), leaving.signal)
  topic.publish(1)
  expect(seen).toEqual([])
  topic.publish(2)
  expect(seen).toEqual(['late 2'])
})
