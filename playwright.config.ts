import { defineConfig } from '@playwright/test'
import { findChromium } from './e2e/chromium.ts'
export default defineConfig({
  testDir: 'e2e',
  workers: 1,
  retries: 0,
  forbidOnly: true,
  reporter: [['line'], ['json', { outputFile: 'data/e2e.json' }]],
  use: {
    baseURL: process.env.BASE ?? 'http://127.0.0.1:7805',
    launchOptions: { executablePath: await findChromium(), args: ['--no-sandbox'] },
  },
})
