import { expect, it } from 'vitest'
import { createAttention } from './attention.ts'

function createWatched() {
  let now = 0
  const attention = createAttention({ monotonic: () => now })
  const looks: string[] = []
  attention.onLook((link) => looks.push(link), new AbortController().signal)
  return { attention, looks, setTime: (at: number) => (now = at) }
}

it('somebody looks while a page is open, and for a while after a read; only the first look is told', () => {
  const { attention, looks, setTime } = createWatched()
  const [first, second] = [attention.hold('kuma', 'default'), attention.hold('kuma', 'default')]
  expect(looks).toEqual(['kuma'])
  first()
  first()
  expect(attention.isLookedAt('kuma')).toBe(true)
  second()
  expect(attention.isLookedAt('kuma')).toBe(false)
  attention.touch('kuma', 'default')
  setTime(14_999)
  expect(attention.isLookedAt('kuma')).toBe(true)
  setTime(15_000)
  expect(attention.isLookedAt('kuma')).toBe(false)
  expect(looks).toEqual(['kuma', 'kuma'])
})

it('a look at one mesh is a look at the link, and at no other mesh; one more mesh is told', () => {
  const { attention, looks } = createWatched()
  const lookAway = attention.hold('kuma', 'default')
  expect(attention.isLookedAt('kuma', 'default')).toBe(true)
  expect(attention.isLookedAt('kuma', 'other')).toBe(false)
  attention.hold('kuma', 'other')
  lookAway()
  expect(attention.isLookedAt('kuma', 'default')).toBe(false)
  expect(attention.isLookedAt('kuma')).toBe(true)
  expect(looks).toEqual(['kuma', 'kuma'])
})
