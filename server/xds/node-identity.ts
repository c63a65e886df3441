import type { Node__Output } from '../gen/envoy/config/core/v3/Node.ts'
import { clip } from '../lib/clip.ts'
import { CoreError } from '../lib/errors.ts'
import { isNestedDeeper } from '../lib/nesting.ts'
import { type Dataplane, kind as dataplaneKind } from '../model/kinds/dataplane.ts'
import { isReadableName } from '../model/readable-name.ts'
import type { ResourceKey } from '../model/resource.ts'

/** Who a peer says it is, in the first message of its stream. */
export interface NodeIdentity {
  readonly nodeId: string
  readonly subject: ResourceKey
  /** The Dataplane it brings along; undefined when it must be in the store already. */
  readonly dataplane: Dataplane | undefined
  /** What it runs, for example `envoy 1.40.0`. */
  readonly agent: string | undefined
}

const RESOURCE_FIELD = 'dataplane.resource'
const EXAMPLE = '{"type":"Dataplane","mesh":"default","name":"web-1","networking":{"address":"127.0.0.1","inbound":[],"outbound":[]}}'
const LONGEST_ID = 512
/** Of a mesh and of a name: what the API can be asked for. */
const LONGEST_NAME = 253
/** No Dataplane comes near it. */
const DEEPEST = 32

/** Reads a node. Throws `invalid` that says what was wrong and what would be right. */
export function identifyNode(node: Node__Output | null | undefined): NodeIdentity {
  if (node === null || node === undefined || node.id === '')
    throw invalid('the first message of a stream must carry a node with an id of the form <mesh>.<name>')
  if (node.id.length > LONGEST_ID) throw invalid(`the node id has ${node.id.length} characters; at most ${LONGEST_ID} are taken`)
  const dot = node.id.indexOf('.')
  if (dot < 1 || dot === node.id.length - 1)
    throw invalid(`node id "${node.id}" is not of the form <mesh>.<name>, for example default.web-1`)
  if (!isReadableName(node.id))
    throw invalid(`node id ${quote(node.id)} has spaces, control or invisible characters, or bytes that are not UTF-8: leave them out`)
  if (dot > LONGEST_NAME || node.id.length - dot - 1 > LONGEST_NAME)
    throw invalid(`the mesh and the name in a node id have at most ${LONGEST_NAME} characters each`)
  const subject: ResourceKey = { type: 'Dataplane', mesh: node.id.slice(0, dot), name: node.id.slice(dot + 1) }
  return { nodeId: node.id, subject, dataplane: readDataplane(node, subject), agent: agentOf(node) }
}

function readDataplane(node: Node__Output, subject: ResourceKey): Dataplane | undefined {
  const field = node.metadata?.fields?.[RESOURCE_FIELD]
  if (field === undefined) return undefined
  const text = field.stringValue
  if (typeof text !== 'string') throw invalid(`node metadata ${RESOURCE_FIELD} must be a string that holds JSON, for example ${EXAMPLE}`)
  const { type, mesh, name, ...spec } = parseObject(text)
  if (type !== undefined && type !== 'Dataplane')
    throw invalid(`node metadata ${RESOURCE_FIELD} is of type ${quote(type)}; it must be a Dataplane`)
  if (mesh !== subject.mesh || name !== subject.name) {
    throw invalid(
      `node metadata ${RESOURCE_FIELD} names mesh ${quote(mesh)} and name ${quote(name)}, but the node id "${node.id}" says mesh "${subject.mesh}" and name "${subject.name}": they must agree`,
    )
  }
  // The marker of a session is ours to write.
  const { session: _theirs, ...own } = dataplaneKind.parseSpec(spec) as Dataplane & { session?: unknown }
  return own
}

function parseObject(text: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw invalid(`node metadata ${RESOURCE_FIELD} is not JSON (${(error as Error).message}); for example ${EXAMPLE}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw invalid(`node metadata ${RESOURCE_FIELD} must be a JSON object, for example ${EXAMPLE}`)
  if (isNestedDeeper(parsed, DEEPEST))
    throw invalid(`node metadata ${RESOURCE_FIELD} has more than ${DEEPEST} objects and lists in one another`)
  return parsed as Record<string, unknown>
}

function agentOf({ user_agent_name, user_agent_version, user_agent_build_version }: Node__Output): string | undefined {
  const build = user_agent_build_version?.version
  const version = build === undefined || build === null ? user_agent_version : `${build.major_number}.${build.minor_number}.${build.patch}`
  const agent = [user_agent_name, version].filter((part) => part !== undefined && part !== '').join(' ')
  return agent === '' ? undefined : agent.slice(0, 100)
}

function quote(value: unknown): string {
  return clip(JSON.stringify(value) ?? 'none', 100)
}

function invalid(message: string): CoreError {
  return new CoreError('invalid', message)
}
