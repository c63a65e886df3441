import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const TABLE = 'oxlint.config.ts'
const DRAWING = 'docs/ARCHITECTURE.md'
/** Type-only and generated, so it is no layer. */
const GENERATED = 'gen'

interface LayerTable {
  readonly layers: readonly (readonly string[])[]
  readonly outside: readonly (readonly string[])[]
}

/**
 * Holds the layer table that lint enforces (`layers` and `outside` in oxlint.config.ts) against the folders of server/ and
 * against the drawing in docs/ARCHITECTURE.md: its code block marked `layers`, a line of the table each, names apart by
 * ` | ` and what they are for behind two spaces or more.
 */
export async function findLayerFaults(root: string): Promise<readonly string[]> {
  const table = (await import(pathToFileURL(join(root, TABLE)).href)) as LayerTable
  return [...unplacedFolders(root, table), ...drawingFaults(root, table)]
}

function unplacedFolders(root: string, { layers, outside }: LayerTable): readonly string[] {
  const placed = new Set([...layers.flat(), ...outside.flat(), GENERATED])
  return readdirSync(join(root, 'server'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !placed.has(entry.name))
    .map(({ name }) => `server/${name} has no place in the layer table of ${TABLE}`)
}

function drawingFaults(root: string, { layers, outside }: LayerTable): readonly string[] {
  const path = join(root, DRAWING)
  const drawn = existsSync(path) ? parseDrawing(readFileSync(path, 'utf8')) : undefined
  if (drawn === undefined) return [`${DRAWING} draws no layers (a code block marked "layers")`]
  const wanted = [...layers, ...outside].map((line) => line.join(' | '))
  return wanted.length === drawn.length && wanted.every((line, index) => line === drawn[index])
    ? []
    : [`${DRAWING} draws other layers than ${TABLE} has.`, 'drawn:', ...drawn.map(indented), 'enforced:', ...wanted.map(indented)]
}

function parseDrawing(markdown: string): readonly string[] | undefined {
  return /^```layers\n(.*?)^```/ms
    .exec(markdown)?.[1]
    ?.split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim().split(/ {2,}/)[0] ?? '')
}

function indented(line: string): string {
  return `  ${line}`
}
