/** Who is at work in this browser, as it is written into the history of settings. It tells browsers apart and proves nothing. */
const STORAGE_KEY = 'tidewatch-operator'
const changed = new EventTarget()

/** Before the browser has said who it is, and where it may keep nothing. */
export const UNNAMED = 'operator'

export function operatorName(): string {
  try {
    const kept = localStorage.getItem(STORAGE_KEY)
    if (kept !== null) return kept
    const made = `operator-${randomLetters()}`
    localStorage.setItem(STORAGE_KEY, made)
    return made
  } catch {
    return UNNAMED
  }
}

/** An empty name goes back to one that is made up. */
export function renameOperator(name: string): void {
  const trimmed = name.trim().slice(0, 64)
  try {
    if (trimmed === '') localStorage.removeItem(STORAGE_KEY)
    else localStorage.setItem(STORAGE_KEY, trimmed)
  } catch {
    return
  }
  changed.dispatchEvent(new Event('change'))
}

export function onOperatorRenamed(listener: () => void): () => void {
  const onStorage = ({ key }: StorageEvent) => {
    if (key === STORAGE_KEY) listener()
  }
  changed.addEventListener('change', listener)
  window.addEventListener('storage', onStorage)
  return () => {
    changed.removeEventListener('change', listener)
    window.removeEventListener('storage', onStorage)
  }
}

function randomLetters(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
  return Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => letters[byte % letters.length]).join('')
}
