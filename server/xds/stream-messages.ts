import type { DeltaDiscoveryRequest__Output } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryRequest.ts'
import type { DeltaDiscoveryResponse } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import type { DiscoveryRequest__Output } from '../gen/envoy/service/discovery/v3/DiscoveryRequest.ts'
import type { DiscoveryResponse } from '../gen/envoy/service/discovery/v3/DiscoveryResponse.ts'
import type { DeltaRequest } from '../discovery/delta-state.ts'
import type { Answer } from '../discovery/discovery-session.ts'
import type { SotwRequest } from '../discovery/sotw-state.ts'
import type { XdsResource } from './resource-types.ts'

/** Between the messages of the protocol and the words of a session. */

export function toSotwRequest({ resource_names, response_nonce, error_detail }: DiscoveryRequest__Output): SotwRequest {
  return { names: resource_names, nonce: response_nonce, rejection: error_detail === null ? undefined : reasonOf(error_detail) }
}

export function toDeltaRequest(message: DeltaDiscoveryRequest__Output): DeltaRequest {
  const { resource_names_subscribe, resource_names_unsubscribe, initial_resource_versions, response_nonce, error_detail } = message
  return {
    subscribe: resource_names_subscribe,
    unsubscribe: resource_names_unsubscribe,
    initialVersions: initial_resource_versions,
    nonce: response_nonce,
    rejection: error_detail === null ? undefined : reasonOf(error_detail),
  }
}

export function toResponse(answer: Answer<XdsResource>): DiscoveryResponse | DeltaDiscoveryResponse {
  const { type, nonce, resources } = answer
  if (answer.variant === 'sotw') return { type_url: type, version_info: answer.version, nonce, resources: resources.map(({ any }) => any) }
  return {
    type_url: type,
    nonce,
    resources: resources.map(({ name, version, any }) => ({ name, version, resource: any })),
    removed_resources: [...answer.removed],
  }
}

const LONGEST_REASON = 2_000

/** In the peer's words, but not more of them than a page can show. */
function reasonOf({ message, code }: { readonly message: string; readonly code: number }): string {
  const reason = message.trim()
  if (reason === '') return `refused without a reason (code ${code})`
  return reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason
}
