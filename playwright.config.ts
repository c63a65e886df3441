import { defineConfig } from '@playwright/test'
import { findChromium } from './e2e/chromium.ts'

export default defineConfig({
  testDir: 'e2e',
  testIgnore: 'real/**',
  // Journeys measure ages and cadences: they have the machine for themselves.
  workers: 1,
  retries: 0,
  timeout: 60_000,
  forbidOnly: true,
  reporter: 'list',
  use: {
    trace: 'retain-on-failure',
    launchOptions: { executablePath: await findChromium(), args: ['--no-sandbox'] },
  },
})
