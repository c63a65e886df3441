import { CoreError } from '../lib/errors.ts'
import type { Kinds } from '../model/kind.ts'
import type { ResourceDraft } from '../model/resource.ts'

/**
 * Checks what another control plane sends; throws `invalid`. A data plane of a zone need not be one that could connect here (newer ones
 * have inbounds without tags), but it has an address.
 */
export function checkSynced(kinds: Kinds, { key, spec }: Pick<ResourceDraft, 'key' | 'spec'>): void {
  // What is in a secret of another control plane is its own affair.
  if (key.type === 'Secret') return
  if (key.type !== 'Dataplane') return void kinds.get(key.type)?.parseSpec(spec)
  const { networking } = spec as { readonly networking?: { readonly address?: unknown } }
  if (typeof networking?.address !== 'string' || networking.address === '')
    throw new CoreError('invalid', 'networking.address: must be an address, and is empty', { details: { field: 'networking.address' } })
}
