import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        // Not isolated: importing a module does nothing, and this is where that is under test.
        test: {
          name: 'unit',
          include: ['{server,components,app,tools,scripts,bench}/**/*.test.{ts,tsx}'],
          exclude: ['**/*.wire.test.ts', 'node_modules/**', '.next/**'],
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Real sockets, files, processes and workers.
        test: {
          name: 'wire',
          include: ['{server,scripts,tools}/**/*.wire.test.ts'],
          exclude: ['node_modules/**', '.next/**'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
