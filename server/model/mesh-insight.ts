/** What is observed of a whole mesh, computed from what is stored of it. */
export interface MeshInsight {
  /** Moves with each full resync: tells "nothing changed" from "nobody looks". */
  readonly generation: number
  readonly dataplanes: DataplaneCounts
  /** By what they say they run; `unknown` for those that do not say. */
  readonly byVersion: Readonly<Record<string, DataplaneCounts>>
  /** Resources of the mesh by type, insights left out. */
  readonly resources: Readonly<Record<string, number>>
}

export interface DataplaneCounts {
  readonly total: number
  /** Connected, and all they were sent accepted. */
  readonly online: number
  /** Connected, but they refuse something. */
  readonly degraded: number
  readonly offline: number
}

/** What is observed of one Tidewatch instance, by itself. */
export interface InstanceInsight {
  readonly generation: number
  readonly mode: string
  readonly version: string
  readonly startedAt: number
  readonly sessions: { readonly xds: number; readonly kds: number }
  readonly links: Readonly<Record<string, number>>
  readonly conflicts: { readonly benign: number; readonly harmful: number }
  /** The newest version of any setting in force here. */
  readonly settingsVersion: string
  readonly eventLoopLagMs: { readonly p50: number; readonly p99: number }
  readonly rssBytes: number
}
