/**
 * Whether a value that was parsed from JSON has more than `most` objects and lists in one another. Parsing knows no bound, but
 * what writes, freezes or compares it afterwards calls itself for each level, and would end by a fault of ours.
 */
export function isNestedDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most === 0 || Object.values(value).some((each) => isNestedDeeper(each, most - 1))
}
