'use client'

import { Monitor, Moon, Sun } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { applyTheme, currentTheme, nextTheme, onThemeChange, type Theme } from './theme.ts'

const icons = { system: Monitor, light: Sun, dark: Moon } as const
const words: Readonly<Record<Theme, string>> = { system: 'as the system', light: 'light', dark: 'dark' }

export function ThemeButton() {
  const theme = useSyncExternalStore(onThemeChange, currentTheme, (): Theme => 'system')
  const Icon = icons[theme]
  const label = `Theme: ${words[theme]}. Change to ${words[nextTheme[theme]]}`
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      onClick={() => applyTheme(nextTheme[theme])}
      className="flex size-8 shrink-0 cursor-pointer items-center justify-center rounded-full border border-line bg-panel text-muted hover:border-accent hover:text-ink"
    >
      <Icon aria-hidden className="size-4" />
    </button>
  )
}
