/** One entry of `kuma:`: a control plane that is attached, read-only. */
export interface KumaConfig {
  readonly id: string
  /** Its HTTP API, as in http://127.0.0.1:5681; may have a path, behind a proxy. */
  readonly url: string
  /** Its Prometheus endpoint, as in http://127.0.0.1:5680/metrics. */
  readonly metricsUrl?: string
  /** Holds a token; read anew for each poll. Without it we are anonymous, who may read all that is asked for. */
  readonly tokenFile?: string
  /** At most so often it is asked; never more often than it writes what we read. */
  readonly intervalMs: number
}
