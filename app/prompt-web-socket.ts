/**
 * A WebSocket whose close() takes effect at once. The browser's own waits for the peer's closing handshake, which a peer that is
 * gone never sends: tRPC's keep-alive calls close() and would go on looking connected for as long as that lasts. Undefined on
 * the server, which opens none.
 */
export const PromptWebSocket =
  typeof WebSocket === 'undefined'
    ? undefined
    : class extends WebSocket {
        constructor(url: string | URL, protocols?: string | string[]) {
          super(url, protocols)
          let isClosed = false
          this.addEventListener('close', (event) => {
            if (isClosed) event.stopImmediatePropagation()
            isClosed = true
          })
        }
        override close(code?: number, reason?: string) {
          super.close(code, reason)
          this.dispatchEvent(new CloseEvent('close', { code: 1006, reason: 'closed without waiting for the peer' }))
        }
      }
