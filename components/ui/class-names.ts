import { type ClassValue, clsx } from 'clsx'
import { twMerge } from 'tailwind-merge'

/** Joins class names; of two that set the same, the later wins, so that a caller can change what a component brings. */
export function classNames(...values: readonly ClassValue[]): string {
  return twMerge(clsx(values))
}
