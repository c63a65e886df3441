import { existsSync } from 'node:fs'

/** How a real Kubernetes API server is had: a cluster somebody gave us, or scripts that start and break one. */
export interface KubernetesPeer {
  readonly name: string
  /** For the tests. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * TIDEWATCH_KUBE_UP: the path of an executable that is called with a folder, starts etcd and an API server there and prints the path of
 * a kubeconfig with the contexts `admin` and `viewer` (no rights) on its last line; beside it are kube-down, kube-restart and
 * kube-compact, called with the same folder. Or KUBECONFIG: a cluster, which is not broken on purpose.
 */
export function findKubernetes(): KubernetesPeer | undefined {
  const kit = process.env['TIDEWATCH_KUBE_UP']
  if (kit !== undefined) return existsSync(kit) ? { name: kit, env: { TIDEWATCH_KUBE_UP: kit } } : undefined
  const kubeconfig = process.env['KUBECONFIG']
  return kubeconfig === undefined || kubeconfig === '' ? undefined : { name: kubeconfig, env: { KUBECONFIG: kubeconfig } }
}
