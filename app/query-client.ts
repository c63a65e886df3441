import { defaultShouldDehydrateQuery, QueryClient } from '@tanstack/react-query'

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // What the server put into the page is not asked for again as soon as the page is there.
      queries: { staleTime: 30_000, retry: 2, retryDelay: (failures) => Math.min(500 * 2 ** failures, 4_000) },
      dehydrate: { shouldDehydrateQuery: (query) => defaultShouldDehydrateQuery(query) },
    },
  })
}
