import { NuqsAdapter } from 'nuqs/adapters/next/app'
import type { ReactNode } from 'react'

/** View state of this page is in the URL; pages without any do without what keeps it there. */
export default function InsightsLayout({ children }: { readonly children: ReactNode }) {
  return <NuqsAdapter>{children}</NuqsAdapter>
}
