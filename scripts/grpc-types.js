// Types of the gRPC messages, from the .proto files that come with the gRPC xDS client. They are made with the options that
// the messages are loaded with at run time (server/xds/protos.ts), into a folder that git ignores.
import { readFileSync } from 'node:fs'

export const GENERATED_TYPES = 'server/gen'

const PROTOS = 'node_modules/@grpc/grpc-js-xds/deps'
const { includeDirs, files } = JSON.parse(readFileSync(new URL('../server/xds/proto-files.json', import.meta.url), 'utf8'))
const OPTIONS = [
  '--keepCase',
  '--longs=Number',
  '--enums=String',
  '--defaults',
  '--oneofs',
  '--grpcLib=@grpc/grpc-js',
  '--importFileExtension=.ts',
]

/** Arguments of proto-loader-gen-types. */
export function protoArguments() {
  return [...OPTIONS, ...includeDirs.map((folder) => `--includeDirs=${PROTOS}/${folder}`), `--outDir=${GENERATED_TYPES}`, ...files]
}
