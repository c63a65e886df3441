import type { Metadata, Viewport } from 'next'
import { headers } from 'next/headers'
import { connection } from 'next/server'
import type { ReactNode } from 'react'
import './globals.css'
import { LiveProvider } from './live/live-provider.tsx'
import { AppShell } from './shell/app-shell.tsx'
import { HeldNavigationProvider } from './shell/held-navigation.tsx'
import { bootScript } from './shell/theme.ts'
import { TrpcProvider } from './trpc-client.tsx'
import { getQueryClient, getTrpc } from './trpc-server.tsx'

export const metadata: Metadata = {
  title: { default: 'Tidewatch', template: '%s · Tidewatch' },
  description: 'How fresh status really is, why it lags, and the intervals behind it.',
}
export const viewport: Viewport = { colorScheme: 'light dark', width: 'device-width', initialScale: 1 }

/** Every page is made per request, in the process that has the data: nothing of it exists when the product is built. */
export default async function RootLayout({ children }: { readonly children: ReactNode }) {
  await connection()
  // From this process's memory: it takes no longer than the first byte does anyway.
  const first = await getQueryClient().fetchQuery(getTrpc().overview.glance.queryOptions())
  const nonce = nonceOf((await headers()).get('content-security-policy'))
  return (
    <html lang="en" suppressHydrationWarning>
      <head>
        <script nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={{ __html: bootScript }} />
      </head>
      <body className="bg-bg font-sans text-ink antialiased">
        <TrpcProvider>
          <LiveProvider first={first}>
            <HeldNavigationProvider>
              <AppShell>{children}</AppShell>
            </HeldNavigationProvider>
          </LiveProvider>
        </TrpcProvider>
      </body>
    </html>
  )
}

/** The server puts its policy on the request too; Next takes the nonce for its own scripts from there. */
function nonceOf(policy: string | null): string | undefined {
  return /'nonce-([^']+)'/.exec(policy ?? '')?.[1]
}
