import { type ClassValue, clsx } from 'clsx'

/** Joins class names. Two that set the same must not meet here: which of them wins is the style sheet's order. */
export function classNames(...values: readonly ClassValue[]): string {
  return clsx(values)
}
