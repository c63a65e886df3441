'use client'

import './globals.css'
import { BlockMessage } from '../components/ui/block-message.tsx'

/** Where not even the frame of the pages could be drawn. */
export default function GlobalError({ reset }: { readonly error: Error; readonly reset: () => void }) {
  return (
    <html lang="en">
      <body className="bg-bg font-sans text-ink">
        <main>
          <h1 className="sr-only">Tidewatch</h1>
          <BlockMessage title="Tidewatch cannot answer now" onRetry={reset}>
            It may be starting or stopping; its log says more.
          </BlockMessage>
        </main>
      </body>
    </html>
  )
}
