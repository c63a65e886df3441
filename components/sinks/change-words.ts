import type { ChangeRow, SettingValue } from '../../server/model/views.ts'
import { formatExactSpan, formatQuantity, formatSpan } from '../format.ts'

/** `sink.dataplane.flushIntervalMs` reads `dataplane flush interval`. */
export function settingName(key: string): string {
  return key
    .replace(/^sink\./, '')
    .replace(/Ms$/, '')
    .replaceAll('.', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
}

export function settingText(key: string, value: SettingValue): string {
  return key.endsWith('Ms') && typeof value === 'number' ? formatExactSpan(value) : String(value)
}

/** What came of a change, where that is known. */
export function effectText(effect: ChangeRow['effect']): string | undefined {
  if (effect === null) return undefined
  if (effect.sessions === 0) return 'in effect, no session was there'
  return `in effect for ${effect.sessions === 1 ? '' : 'all '}${formatQuantity(effect.sessions, 'session')} after ${formatSpan(effect.afterMs)}`
}
