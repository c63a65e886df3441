'use client'

import { useSyncExternalStore } from 'react'
import { onOperatorRenamed, operatorName, UNNAMED } from './operator-name.ts'

export function useOperatorName(): string {
  return useSyncExternalStore(onOperatorRenamed, operatorName, () => UNNAMED)
}
