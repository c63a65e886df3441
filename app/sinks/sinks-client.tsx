'use client'

import { parseAsString, useQueryState } from 'nuqs'
import { SinkCard } from '../../components/sinks/sink-card.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { useCounters } from '../live/use-counters.ts'
import { TunePanel } from './tune-panel.tsx'

/** Every sink of this instance, and the form of the one that is being tuned: which one is in the URL. */
export function SinksClient() {
  const sinks = useCounters((counters) => counters.sinks)
  const [tuning, setTuning] = useQueryState('tune', parseAsString.withOptions({ history: 'push' }))
  const tuned = sinks.find(({ name }) => name === tuning)
  function close(name: string) {
    void setTuning(null)
    document.querySelector<HTMLElement>(`[aria-label="Tune ${CSS.escape(name)}"]`)?.focus()
  }
  if (sinks.length === 0)
    return (
      <BlockMessage title="No sink runs here">A sink writes what data planes report into the store. This instance has none.</BlockMessage>
    )
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-[repeat(auto-fit,minmax(min(100%,22rem),1fr))]">
        {sinks.map((sink) => (
          <SinkCard
            key={sink.name}
            sink={sink}
            isTuning={sink.name === tuning}
            onTune={() => void setTuning(sink.name === tuning ? null : sink.name)}
          />
        ))}
      </div>
      {tuned !== undefined && <TunePanel key={tuned.name} sink={tuned.name} onClose={() => close(tuned.name)} />}
    </>
  )
}
