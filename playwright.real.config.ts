import { defineConfig } from '@playwright/test'
import common from './playwright.config.ts'

/** Against real peers: `npm run test:real` finds them and names them in the environment. */
export default defineConfig(common, { testDir: 'e2e/real', testIgnore: [], timeout: 90_000 })
