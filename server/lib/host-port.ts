/** `host:port` as URLs and gRPC targets write it: an IPv6 address stands in brackets. */
export function toHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
