/** The names closest to what was written, best first, at most three: a slip of the pen, another case, a part of it. */
export function nearestOf(written: string, names: readonly string[]): readonly string[] {
  const asked = written.toLowerCase()
  const scored = names.map((name) => {
    const known = name.toLowerCase()
    const isPart = Math.min(asked.length, known.length) > 2 && (known.includes(asked) || asked.includes(known))
    return { name, score: isPart ? Math.min(1, editsBetween(asked, known)) : editsBetween(asked, known) }
  })
  const close = scored.filter(({ score }) => score <= Math.max(1, Math.floor(asked.length / 4)))
  return close
    .sort((a, b) => a.score - b.score)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** Letters to change, add or leave out. */
function editsBetween(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++)
      row.push(Math.min(row[j - 1]! + 1, previous[j]! + 1, previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    previous = row
  }
  return previous[b.length]!
}
