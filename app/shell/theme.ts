/** `system` follows what the reader's system prefers, also while the page is open. */
export type Theme = 'system' | 'light' | 'dark'

const STORAGE_KEY = 'tidewatch-theme'

/**
 * Runs before anything is drawn, so that no page flashes in the wrong colours. It also hands the page's nonce on to the parts that
 * add a style element (a dialog that keeps the page behind it from scrolling).
 */
export const bootScript = `try{var t=localStorage.getItem('${STORAGE_KEY}');if(t==='light'||t==='dark')document.documentElement.dataset.theme=t}catch(e){}window.__webpack_nonce__=document.currentScript.nonce`

export function currentTheme(): Theme {
  const theme = document.documentElement.dataset['theme']
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  try {
    if (theme === 'system') localStorage.removeItem(STORAGE_KEY)
    else localStorage.setItem(STORAGE_KEY, theme)
  } catch {
    // Kept for this page alone where the browser may keep nothing.
  }
  themeChanged.dispatchEvent(new Event('change'))
}

const themeChanged = new EventTarget()

export function onThemeChange(listener: () => void): () => void {
  themeChanged.addEventListener('change', listener)
  return () => themeChanged.removeEventListener('change', listener)
}

export const nextTheme: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
