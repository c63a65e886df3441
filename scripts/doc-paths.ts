import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const DOCS = ['README.md', 'CHANGELOG.md', 'docs/**/*.md']
/** Made at run time, or not ours. */
const NOT_IN_GIT = new Set(['data', 'node_modules', 'test-results'])

/**
 * Paths that the documents name and that do not exist: code spans that start with a folder of the repository (globs must
 * match something), and relative links. One line each: document, line, path.
 */
export function findBrokenDocPaths(root: string): readonly string[] {
  const folders = new Set(
    readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !NOT_IN_GIT.has(entry.name) && !entry.name.startsWith('.next') && entry.name !== '.git')
      .map(({ name }) => name),
  )
  return globSync([...DOCS], { cwd: root })
    .map((doc) => doc.replaceAll('\\', '/'))
    .sort()
    .flatMap((doc) =>
      readFileSync(join(root, doc), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          [...namedPaths(line, folders), ...linkedPaths(line, doc)]
            .filter((path) => !isThere(root, path))
            .map((path) => `${doc}:${index + 1}: ${path} does not exist`),
        ),
    )
}

function namedPaths(line: string, folders: ReadonlySet<string>): readonly string[] {
  return [...line.matchAll(/`([^`\s]+)`/g)]
    .map(([, span = '']) => span.replace(/(:\d+)+$/, ''))
    .filter((span) => span.includes('/') && folders.has(span.split('/')[0] ?? ''))
}

function linkedPaths(line: string, doc: string): readonly string[] {
  return [...line.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
    .map((target) => relative('.', join(dirname(doc), target)))
}

function isThere(root: string, path: string): boolean {
  return /[*{]/.test(path) ? globSync(path, { cwd: root }).length > 0 : existsSync(join(root, path))
}
