// Tidewatch that sends every data plane of mesh "default" a cluster it must refuse: to see a real peer's reason on the page.
import { runTidewatch } from '../../server/main.ts'
import { hashText } from '../../server/discovery/discovery.ts'
import { loadProtos } from '../../server/xds/protos.ts'

const { pack } = loadProtos()

await runTidewatch(process.argv.slice(2), {
  adaptBuilder: (builder) => ({
    ...builder,
    localCluster(inbound) {
      const good = builder.localCluster(inbound)
      const any = pack('envoy.config.cluster.v3.Cluster', { name: good.name, type: 'STATIC', connect_timeout: { seconds: -1 } })
      return { ...good, any, version: hashText(any.value.toString('latin1')) }
    },
  }),
})
