export interface GridPosition {
  readonly active: number
  readonly rowCount: number
  /** Rows that fit on the screen: what PageUp and PageDown move by, less the one kept as context. */
  readonly pageRows: number
}

/** The row a key moves to; undefined when the key is not for the grid. An index of -1 means that no row is active yet. */
export function nextActiveRow(key: string, { active, rowCount, pageRows }: GridPosition): number | undefined {
  if (rowCount === 0) return undefined
  const page = Math.max(1, pageRows - 1)
  switch (key) {
    case 'ArrowDown':
      return within(active + 1)
    case 'ArrowUp':
      return within(active - 1)
    case 'PageDown':
      return within(Math.max(active, 0) + page)
    case 'PageUp':
      return within(active - page)
    case 'Home':
      return 0
    case 'End':
      return rowCount - 1
    default:
      return undefined
  }

  function within(index: number) {
    return Math.min(Math.max(index, 0), rowCount - 1)
  }
}
