import { WebSocket } from 'ws'

/** Pages that are open: each on Insights, with forty rows of its own. What it returns closes them. */
export async function openBrowsers(url: string, count: number): Promise<() => void> {
  const { keys } = await get<{ keys: object[] }>(url, 'insights.order', { sort: 'name' })
  const sockets = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/api/trpc`, { origin: url })
      await new Promise((resolve) => socket.once('open', resolve))
      const input = { counters: 'glance', insights: keys.slice(index * 40, index * 40 + 40) }
      socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'live', input } }))
      return socket
    }),
  )
  return () => {
    for (const socket of sockets) socket.terminate()
  }
}

/** What a query of the API answers. Throws when it answers with an error. */
export async function get<T>(url: string, procedure: string, input?: object): Promise<T> {
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const response = await fetch(`${url}/api/trpc/${procedure}${query}`)
  if (!response.ok) throw new Error(`${procedure} answered ${response.status}`)
  return ((await response.json()) as { result: { data: T } }).result.data
}
