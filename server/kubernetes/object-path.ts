import { assertNever } from '../lib/assert-never.ts'
import { isRecord } from './kube-object.ts'

/** Where in an object something is, in the usual part of JSONPath: `.status.lastRun`, `{.a['b.c'].d[0]}`, `.conditions[?(@.type=="Ready")].at`. */
export interface ObjectPath {
  /** The value there; undefined when there is none. */
  read(object: unknown): unknown
}

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'match'; readonly field: string; readonly value: string }

const STEP =
  /^(?:\.([A-Za-z_][\w-]*)|\[(\d{1,6})\]|\[(?:'([^']+)'|"([^"]+)")\]|\[\?\(\s*@\.([A-Za-z_][\w-]*)\s*==\s*(?:'([^']*)'|"([^"]*)")\s*\)\])/

/** Undefined when it is no such path. */
export function parseObjectPath(text: string): ObjectPath | undefined {
  const inner = text
    .trim()
    .replace(/^\{(.*)\}$/, '$1')
    .replace(/^\$/, '')
  let rest = inner.startsWith('.') || inner.startsWith('[') ? inner : `.${inner}`
  const steps: Step[] = []
  while (rest !== '') {
    const found = STEP.exec(rest)
    if (found === null) return undefined
    const [whole, field, index, single, double, matched, singleValue, doubleValue] = found
    const name = field ?? single ?? double
    steps.push(
      name !== undefined
        ? { kind: 'field', name }
        : index !== undefined
          ? { kind: 'index', index: Number(index) }
          : { kind: 'match', field: matched!, value: singleValue ?? doubleValue ?? '' },
    )
    rest = rest.slice(whole.length)
  }
  return { read: (object) => steps.reduce<unknown>(follow, object) }
}

function follow(value: unknown, step: Step): unknown {
  switch (step.kind) {
    case 'field':
      return isRecord(value) && Object.hasOwn(value, step.name) ? value[step.name] : undefined
    case 'index':
      return Array.isArray(value) ? value[step.index] : undefined
    case 'match':
      return Array.isArray(value) ? value.find((each) => isRecord(each) && each[step.field] === step.value) : undefined
    default:
      return assertNever(step)
  }
}
