'use client'

import { useEffect, useRef, useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import type { Key } from '../../server/model/views.ts'
import { useTRPCClient } from '../trpc-client.tsx'

type ExportState = { readonly kind: 'idle' } | { readonly kind: 'running'; readonly done: number } | { readonly kind: 'failed' }

/** Saves the present order with the rows as they are now. A long one takes some seconds; pressing again calls it off. */
export function CsvButton({ keys }: { readonly keys: readonly Key[] }) {
  const client = useTRPCClient()
  const [state, setState] = useState<ExportState>({ kind: 'idle' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const start = async () => {
    const abort = new AbortController()
    running.current = abort
    setState({ kind: 'running', done: 0 })
    try {
      const { exportCsv } = await import('./export-csv.ts')
      const parts = await exportCsv({
        keys,
        fetchRows: (page, signal) => client.insights.rows.query({ keys: page }, { signal }),
        signal: abort.signal,
        onProgress: (done) => setState({ kind: 'running', done }),
      })
      save(parts, `insights-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}Z.csv`)
      setState({ kind: 'idle' })
    } catch {
      setState({ kind: abort.signal.aborted ? 'idle' : 'failed' })
    }
  }

  return (
    <Button
      disabled={keys.length === 0}
      title={state.kind === 'running' ? 'Press to call it off' : 'Save the list as it is now'}
      onClick={() => (state.kind === 'running' ? running.current?.abort() : void start())}
    >
      <span aria-live="polite">{labelOf(state)}</span>
    </Button>
  )
}

function labelOf(state: ExportState): string {
  switch (state.kind) {
    case 'idle':
      return 'CSV'
    case 'running':
      return `CSV ${Math.floor(100 * state.done)} %`
    case 'failed':
      return 'CSV failed, again?'
  }
}

function save(parts: readonly string[], name: string) {
  const url = URL.createObjectURL(new Blob([...parts], { type: 'text/csv;charset=utf-8' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
