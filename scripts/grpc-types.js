// Types of the gRPC messages, from the .proto files that come with the gRPC xDS client and from our own. They are made with the
// options that the messages are loaded with at run time (server/lib/load-protos.ts), into a folder that git ignores.
import { readFileSync } from 'node:fs'

export const GENERATED_TYPES = 'server/gen'

const PROTOS = 'node_modules/@grpc/grpc-js-xds/deps'
const packages = ['xds', 'kds'].map((layer) =>
  JSON.parse(readFileSync(new URL(`../server/${layer}/proto-files.json`, import.meta.url), 'utf8')),
)
const OPTIONS = [
  '--keepCase',
  '--longs=Number',
  '--enums=String',
  '--defaults',
  '--oneofs',
  '--grpcLib=@grpc/grpc-js',
  '--importFileExtension=.ts',
]
const own = packages.flatMap(({ own = [] }) => own)

/** Arguments of proto-loader-gen-types. */
export function protoArguments() {
  const includeDirs = [...new Set(packages.flatMap((each) => each.includeDirs.map((folder) => `${PROTOS}/${folder}`))), ...own]
  const files = packages.flatMap((each) => each.files)
  return [...OPTIONS, ...includeDirs.map((folder) => `--includeDirs=${folder}`), `--outDir=${GENERATED_TYPES}`, ...files]
}

/** Our own .proto files: the types are made again when one changes. */
export function ownProtos() {
  return packages.flatMap(({ own = [], files }) => own.flatMap((folder) => files.map((file) => `${folder}/${file}`)))
}
