import { BlockMessage } from '../ui/block-message.tsx'

/** Nothing has ever connected: says how to change that. */
export function NoInsights({ xds }: { readonly xds: string }) {
  return (
    <BlockMessage title="No insights yet">
      <p>
        An insight appears as soon as a data plane connects. Point an Envoy or a gRPC client at <code>{xds}</code> (xDS over ADS, node id{' '}
        <code>mesh.name</code>), or try it with simulated ones:
      </p>
      <pre className="mt-3 overflow-x-auto rounded-md bg-soft px-3 py-2 text-left text-ink">
        <code>npm run fleet -- --xds {xds} --dataplanes 50</code>
      </pre>
    </BlockMessage>
  )
}
