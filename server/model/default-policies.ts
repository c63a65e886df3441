import type { ResourceDraft } from './resource.ts'

/** What a new Mesh gets, so that calls in it end, are tried again and do not pile up: two timeouts, retries, a circuit breaker. */
export function defaultPolicies(mesh: string): readonly ResourceDraft[] {
  const all = { kind: 'Mesh' }
  const policy = (type: string, name: string, spec: object): ResourceDraft => ({
    key: { type, mesh, name: `${name}-all-${mesh}` },
    spec: { targetRef: all, ...spec },
  })
  const backOff = { baseInterval: '25ms', maxInterval: '250ms' }
  const retries = { numRetries: 5, perTryTimeout: '16s', backOff }
  return [
    policy('MeshTimeout', 'mesh-timeout', {
      rules: [
        {
          default: {
            connectionTimeout: '10s',
            idleTimeout: '2h0m0s',
            http: { requestTimeout: '0s', streamIdleTimeout: '1h0m0s', maxStreamDuration: '0s' },
          },
        },
      ],
    }),
    policy('MeshTimeout', 'mesh-timeout-to', {
      to: [
        {
          targetRef: all,
          default: { connectionTimeout: '5s', idleTimeout: '1h0m0s', http: { requestTimeout: '15s', streamIdleTimeout: '30m0s' } },
        },
      ],
    }),
    policy('MeshRetry', 'mesh-retry', {
      to: [{ targetRef: all, default: { tcp: { maxConnectAttempt: 5 }, http: retries, grpc: retries } }],
    }),
    policy('MeshCircuitBreaker', 'mesh-circuit-breaker', {
      to: [
        {
          targetRef: all,
          default: { connectionLimits: { maxConnections: 1024, maxPendingRequests: 1024, maxRetries: 3, maxRequests: 1024 } },
        },
      ],
    }),
  ]
}
