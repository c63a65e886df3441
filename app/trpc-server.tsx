import 'server-only'
import { dehydrate, HydrationBoundary, type QueryClient } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { cache, type ReactNode } from 'react'
import type { Tidewatch } from '../server/api/handle.ts'
import type { AppRouter } from '../server/api/router.ts'
import { makeQueryClient } from './query-client.ts'

/** The process that serves this page: server components call its router directly, without a request. */
function tidewatch(): Tidewatch {
  const handle = (globalThis as Record<symbol, unknown>)[Symbol.for('tidewatch')] as Tidewatch | undefined
  if (handle === undefined) throw new Error('pages are served by Tidewatch itself: start it with npm start or npm run demo')
  return handle
}

/** One per request. */
export const getQueryClient: () => QueryClient = cache(makeQueryClient)

export const getTrpc = cache(() =>
  createTRPCOptionsProxy<AppRouter>({ router: tidewatch().router, ctx: () => tidewatch().createContext(), queryClient: getQueryClient }),
)

/** Hands what was prefetched in this request to the browser. */
export function Hydrate({ children }: { readonly children: ReactNode }) {
  return <HydrationBoundary state={dehydrate(getQueryClient())}>{children}</HydrationBoundary>
}
