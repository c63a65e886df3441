'use client'

import { BlockMessage } from '../components/ui/block-message.tsx'

export default function PageError({ error, reset }: { readonly error: Error & { readonly digest?: string }; readonly reset: () => void }) {
  return (
    <BlockMessage title="This page could not be drawn" onRetry={reset}>
      {error.digest === undefined
        ? 'Something went wrong in the page itself.'
        : `The log of Tidewatch says what went wrong (${error.digest}).`}
    </BlockMessage>
  )
}
