import { type KubeObject, momentOf } from './kube-object.ts'

/** Who writes an object, from its managedFields. */
export interface Writers {
  /** Who wrote last; `unknown` when the object does not say. */
  readonly writer: string
  readonly modifiedAt: number
  /** Writes we saw happen, oldest first, the last few. */
  readonly turns: readonly WriteTurn[]
  /** Of each entry of managedFields, what moves when its manager writes. */
  readonly marks: readonly Mark[]
}
export interface WriteTurn {
  readonly at: number
  readonly writer: string
  /** '' is the object itself, `status` its status. */
  readonly subresource: string
  readonly version: string
}
interface Mark {
  readonly writer: string
  readonly operation: string
  readonly subresource: string
  readonly at: number
  /** How much it owns: within one second, only this tells that fields went over to it. */
  readonly owned: number
}

const UNKNOWN_WRITER = 'unknown'
const TURNS_KEPT = 6
const NO_MARKS: readonly Mark[] = []
const NO_TURNS: readonly WriteTurn[] = []

/** `now` stands in for the moment of a change that says none. */
export function nextWriters(object: KubeObject, before: Writers | undefined, now: number): Writers {
  const { managedFields, creationTimestamp, resourceVersion } = object.metadata
  if (managedFields === undefined || managedFields.length === 0)
    return {
      writer: UNKNOWN_WRITER,
      modifiedAt: before === undefined ? (momentOf(creationTimestamp) ?? now) : now,
      turns: before?.turns ?? NO_TURNS,
      marks: NO_MARKS,
    }
  const marks = marksOf(managedFields)
  const last = marks.reduce((a, b) => (b.at > a.at ? b : a))
  if (before === undefined) return { writer: last.writer, modifiedAt: last.at, turns: NO_TURNS, marks }
  const wrote = whoWrote(marks, before.marks) ?? last
  const turn = { at: wrote.at, writer: wrote.writer, subresource: wrote.subresource, version: resourceVersion }
  return { writer: wrote.writer, modifiedAt: wrote.at, turns: [...before.turns, turn].slice(-TURNS_KEPT), marks }
}

function marksOf(entries: NonNullable<KubeObject['metadata']['managedFields']>): readonly Mark[] {
  return entries.map(({ manager = UNKNOWN_WRITER, operation = '', subresource = '', time, fieldsV1 }) => ({
    writer: manager,
    operation,
    subresource,
    at: momentOf(time) ?? 0,
    owned: fieldsV1 === undefined ? 0 : JSON.stringify(fieldsV1).length,
  }))
}

/** New, or written later, or, within the same second, with more to own. */
function whoWrote(marks: readonly Mark[], before: readonly Mark[]): Mark | undefined {
  const moved = marks.filter((mark) => {
    const known = before.find(
      ({ writer, operation, subresource }) => writer === mark.writer && operation === mark.operation && subresource === mark.subresource,
    )
    return known === undefined || mark.at > known.at || mark.owned > known.owned
  })
  return moved.reduce<Mark | undefined>((a, b) => (a === undefined || b.at > a.at ? b : a), undefined)
}

/** Two managers that write one part of it in turn, and a sentence that says so; undefined when there are none. */
export function contentionOf(
  turns: readonly WriteTurn[],
): { readonly contenders: readonly string[]; readonly sentence: string } | undefined {
  for (const subresource of new Set(turns.map((turn) => turn.subresource))) {
    const writers = turns.filter((turn) => turn.subresource === subresource).map(({ writer }) => writer)
    const [a, b, c] = writers.slice(-3)
    if (a === undefined || b === undefined || a !== c || a === b) continue
    return {
      contenders: [a, b].sort(),
      sentence: `${a} and ${b} write ${subresource === '' ? 'it' : `its ${subresource}`} in turn: the last writes were by ${writers.join(', ')}.`,
    }
  }
  return undefined
}
