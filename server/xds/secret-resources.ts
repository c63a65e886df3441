import type { CommonTlsContext } from '../gen/envoy/extensions/transport_sockets/tls/v3/CommonTlsContext.ts'
import type { DownstreamTlsContext } from '../gen/envoy/extensions/transport_sockets/tls/v3/DownstreamTlsContext.ts'
import type { Secret } from '../gen/envoy/extensions/transport_sockets/tls/v3/Secret.ts'
import type { UpstreamTlsContext } from '../gen/envoy/extensions/transport_sockets/tls/v3/UpstreamTlsContext.ts'
import type { Present } from '../discovery/discovery.ts'
import { hashText } from '../discovery/discovery.ts'
import type { Secrets } from './identity.ts'
import type { Protos } from './protos.ts'
import type { XdsResource } from './resource-types.ts'

/** What a data plane proves itself with, and what it checks its peers by. */
const IDENTITY_SECRET = 'identity'
const ROOTS_SECRET = 'mesh-ca'

const SECRET = 'envoy.extensions.transport_sockets.tls.v3.Secret'
const UPSTREAM = 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext'
const DOWNSTREAM = 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext'
const ADS = { ads: {}, resource_api_version: 'V3' } as const

const built = new WeakMap<object, Present<XdsResource>>()

/** Secrets as a peer asks for them, by name alone: there is no asking for all of them. */
export function presentSecrets({ pack }: Pick<Protos, 'pack'>, secrets: Secrets | undefined): Present<XdsResource> {
  if (secrets === undefined) return { own: new Map(), find: () => undefined }
  const known = built.get(secrets.certificate)
  if (known !== undefined) return known
  const { certificatePem, privateKeyPem } = secrets.certificate
  const resources = [
    secret({
      name: IDENTITY_SECRET,
      tls_certificate: { certificate_chain: { inline_string: certificatePem }, private_key: { inline_string: privateKeyPem } },
    }),
    secret({ name: ROOTS_SECRET, validation_context: { trusted_ca: { inline_string: secrets.rootPem } } }),
  ]
  const byName = new Map(resources.map((resource) => [resource.name, resource]))
  const present: Present<XdsResource> = { own: new Map(), find: (name) => byName.get(name) }
  built.set(secrets.certificate, present)
  return present

  function secret(message: Secret & { readonly name: string }): XdsResource {
    const any = pack(SECRET, message)
    return { name: message.name, version: hashText(any.value.toString('latin1')), needs: [], any }
  }
}

/** For connections to a service: it must prove to be just that. */
export function upstreamTls({ pack }: Pick<Protos, 'pack'>, mesh: string, service: string) {
  const context: UpstreamTlsContext = { sni: service, common_tls_context: tlsContext({ exact: `spiffe://${mesh}/${service}` }) }
  return { name: 'envoy.transport_sockets.tls', typed_config: pack(UPSTREAM, context) }
}

/** For connections from others: they must be of the same mesh. */
export function downstreamTls({ pack }: Pick<Protos, 'pack'>, mesh: string) {
  const context: DownstreamTlsContext = {
    require_client_certificate: { value: true },
    common_tls_context: tlsContext({ prefix: `spiffe://${mesh}/` }),
  }
  return { name: 'envoy.transport_sockets.tls', typed_config: pack(DOWNSTREAM, context) }
}

function tlsContext(matcher: { readonly exact: string } | { readonly prefix: string }): CommonTlsContext {
  return {
    tls_certificate_sds_secret_configs: [{ name: IDENTITY_SECRET, sds_config: ADS }],
    combined_validation_context: {
      default_validation_context: { match_typed_subject_alt_names: [{ san_type: 'URI', matcher }] },
      validation_context_sds_secret_config: { name: ROOTS_SECRET, sds_config: ADS },
    },
  }
}
