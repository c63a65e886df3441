/** Rows as people read them: columns as wide as their widest cell, two spaces between. */
export function toTable(header: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const lines = [header, ...rows.map((row) => row.map((cell) => (cell === null || cell === '' ? '-' : String(cell))))]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
