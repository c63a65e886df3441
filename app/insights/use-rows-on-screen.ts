'use client'

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { toKeyString } from '../../server/model/resource.ts'
import type { Key } from '../../server/model/views.ts'
import { useLiveRows } from '../live/use-live.ts'
import { useTRPCClient } from '../trpc-client.tsx'
import { createRowFetcher, MAX_ROWS } from './row-fetcher.ts'

/**
 * Keeps the rows on screen live: the feed is told which they are, and those not known yet are fetched in batches. The open insight
 * counts as on screen wherever it stands in the list.
 */
export function useRowsOnScreen(openKey: Key | null) {
  const client = useTRPCClient()
  const rows = useLiveRows()
  const [rowsProblem, setProblem] = useState<string | undefined>(undefined)
  const fetcher = useMemo(
    () =>
      createRowFetcher({
        fetchRows: async (keys, signal) => (await client.insights.rows.query({ keys }, { signal })).items,
        isKnown: rows.has,
        onRows: (arrived, missing) => {
          rows.put(arrived)
          rows.markGone(missing)
          setProblem(undefined)
        },
        onError: () => setProblem('Some rows could not be read, trying again'),
        later: (run, ms) => {
          const timer = setTimeout(run, ms)
          return () => clearTimeout(timer)
        },
      }),
    [client, rows],
  )
  useEffect(() => () => fetcher.stop(), [fetcher])

  const windowKeys = useRef<readonly Key[]>([])
  const show = useCallback(
    (keys: readonly Key[], open: Key | null) => {
      const isOpenListed = open === null || keys.some((key) => toKeyString(key) === toKeyString(open))
      const inView = (isOpenListed ? keys : [open, ...keys]).slice(0, MAX_ROWS)
      rows.setInView(inView)
      fetcher.want(inView)
    },
    [rows, fetcher],
  )
  const onWindow = useCallback(
    (keys: readonly Key[]) => {
      windowKeys.current = keys
      show(keys, openKey)
    },
    [show, openKey],
  )
  useEffect(() => show(windowKeys.current, openKey), [show, openKey])
  useEffect(() => () => rows.setInView([]), [rows])
  return { onWindow, rowsProblem }
}
