/**
 * The resource types that control planes of the Kuma family sync, as the newest ones ask for them. A fact of the wire, not a
 * choice: a type that is not in the list of the asking side is never asked for, and one that the answering side does not own
 * must stay unanswered (an empty first answer deletes).
 */
export interface KumaType {
  readonly type: string
  readonly scope: 'mesh' | 'global'
  /** How its spec crosses: JSON text in an Any without a type, or a protobuf message. */
  readonly spec: 'json' | 'proto'
  /** Whose truth crosses: zones ask a global for it, a global asks zones for it, or each asks the other. */
  readonly syncs: 'down' | 'up' | 'both'
}

const of = (types: readonly string[], rest: Omit<KumaType, 'type'>): readonly KumaType[] => types.map((type) => ({ type, ...rest }))

export const kumaTypes: readonly KumaType[] = [
  ...of(['Mesh'], { scope: 'global', spec: 'proto', syncs: 'down' }),
  ...of(['Config', 'GlobalSecret'], { scope: 'global', spec: 'proto', syncs: 'down' }),
  ...of(['Secret', 'ServiceInsight'], { scope: 'mesh', spec: 'proto', syncs: 'down' }),
  ...of(['HostnameGenerator'], { scope: 'global', spec: 'json', syncs: 'both' }),
  ...of(['MeshMultiZoneService'], { scope: 'mesh', spec: 'json', syncs: 'down' }),
  ...of(['Dataplane', 'DataplaneInsight'], { scope: 'mesh', spec: 'proto', syncs: 'up' }),
  ...of(['Workload'], { scope: 'mesh', spec: 'json', syncs: 'up' }),
  ...of(
    [
      'MeshAccessLog',
      'MeshCircuitBreaker',
      'MeshExternalService',
      'MeshFaultInjection',
      'MeshHTTPRoute',
      'MeshHealthCheck',
      'MeshIdentity',
      'MeshLoadBalancingStrategy',
      'MeshMetric',
      'MeshOpenTelemetryBackend',
      'MeshPassthrough',
      'MeshProxyPatch',
      'MeshRateLimit',
      'MeshRetry',
      'MeshService',
      'MeshTCPRoute',
      'MeshTLS',
      'MeshTimeout',
      'MeshTrace',
      'MeshTrafficPermission',
      'MeshTrust',
      'MeshZoneAddress',
    ],
    { scope: 'mesh', spec: 'json', syncs: 'both' },
  ),
  ...of(
    [
      'CircuitBreaker',
      'ExternalService',
      'FaultInjection',
      'HealthCheck',
      'MeshGatewayRoute',
      'ProxyTemplate',
      'RateLimit',
      'Retry',
      'Timeout',
      'TrafficLog',
      'TrafficPermission',
      'TrafficRoute',
      'TrafficTrace',
      'VirtualOutbound',
    ],
    { scope: 'mesh', spec: 'proto', syncs: 'down' },
  ),
  ...of(['MeshGateway'], { scope: 'mesh', spec: 'proto', syncs: 'both' }),
  ...of(['ZoneIngress'], { scope: 'global', spec: 'proto', syncs: 'both' }),
  ...of(['ZoneIngressInsight', 'ZoneEgress', 'ZoneEgressInsight'], { scope: 'global', spec: 'proto', syncs: 'up' }),
]
