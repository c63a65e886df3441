'use client'

import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createTRPCClient, createWSClient, httpBatchLink, splitLink, wsLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import { type ReactNode, useState } from 'react'
import type { AppRouter } from '../server/api/router.ts'
import { operatorName } from './operator-name.ts'
import { PromptWebSocket } from './prompt-web-socket.ts'
import { makeQueryClient } from './query-client.ts'

const context = createTRPCContext<AppRouter>()
export const { useTRPC, useTRPCClient } = context

const PATH = '/api/trpc'
/** A server that comes back is met within this long, and not by all pages in the same moment. */
const MAX_RETRY_MS = 2_000

let browserQueryClient: QueryClient | undefined

/** One per tab; on the server one per rendering, so that nobody sees another's data. */
function queryClientOfHere(): QueryClient {
  if (typeof window === 'undefined') return makeQueryClient()
  browserQueryClient ??= makeQueryClient()
  return browserQueryClient
}

export function TrpcProvider({ children }: { readonly children: ReactNode }) {
  const queryClient = queryClientOfHere()
  const [trpcClient] = useState(makeTrpcClient)
  return (
    <QueryClientProvider client={queryClient}>
      <context.TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
        {children}
      </context.TRPCProvider>
    </QueryClientProvider>
  )
}

/** Queries and changes go over HTTP; the socket carries `live` alone, and is opened when somebody follows it. */
function makeTrpcClient() {
  const socket = createWSClient({
    ...(PromptWebSocket !== undefined && { WebSocket: PromptWebSocket }),
    url: () => `${location.origin.replace(/^http/, 'ws')}${PATH}`,
    lazy: { enabled: true, closeMs: 1_000 },
    retryDelayMs: (attempt) => (attempt === 0 ? 0 : Math.min(250 * 2 ** attempt, MAX_RETRY_MS) * (0.5 + Math.random() / 2)),
    keepAlive: { enabled: true, intervalMs: 5_000, pongTimeoutMs: 3_000 },
  })
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: wsLink({ client: socket }),
        false: httpBatchLink({
          url: PATH,
          maxURLLength: 4_000,
          headers: () => ({ 'x-tidewatch-operator': encodeURIComponent(operatorName()) }),
          // 200 keys do not fit into a URL.
          methodOverride: 'POST',
        }),
      }),
    ],
  })
}
