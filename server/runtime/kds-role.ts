/** What this process is among control planes: what zones connect to, or a zone. */
export type KdsRole = 'global' | 'zone'
