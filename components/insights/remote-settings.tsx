import type { RemoteSetting } from '../../server/model/remote-zone.ts'

/** Intervals of an attached control plane that decide how late its status is, with what to set over there: it reads them at its boot. */
export function RemoteSettings({ settings }: { readonly settings: readonly RemoteSetting[] }) {
  if (settings.length === 0) return null
  return (
    <section aria-label="Set over there" className="rounded-md border border-line px-3 py-2">
      <h3 className="font-semibold">Set over there</h3>
      {settings.map(({ path, of, value, isAssumed, isCause, effect, variable, helm }) => (
        <div key={path} className="mt-1.5">
          <p className="break-words">
            <code className="text-xs">{path}</code> of {of} is <b className="font-semibold">{value}</b>
            {isAssumed && <span className="text-muted"> (its default: it does not say)</span>}.{' '}
            {isCause && <b className="font-semibold">This is why it is as late as it is. </b>}
            <span className="text-muted">{effect}</span>
          </p>
          <dl className="mt-1 grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5 text-xs">
            <dt className="text-muted">environment</dt>
            <dd>
              <code className="break-all">{variable}</code>
            </dd>
            <dt className="text-muted">Helm</dt>
            <dd>
              <code className="break-all">{helm}</code>
            </dd>
          </dl>
        </div>
      ))}
      <p className="mt-1.5 text-xs text-muted">It is read at the boot of that control plane: restart it after a change.</p>
    </section>
  )
}
