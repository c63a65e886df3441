import type { Counters, LiveFrame } from './views.ts'

/** Frames of the live feed about one link. */
export type LinkFrame = Extract<LiveFrame, { readonly key: { readonly link: string } }>

/** All counters, if the frame has them. */
export function countersOf(frame: LiveFrame): Counters | undefined {
  if (frame.kind === 'snapshot') return frame.counters
  return frame.kind === 'upsert' && frame.key === 'counters' ? frame.value : undefined
}

export function isLinkFrame(frame: LiveFrame): frame is LinkFrame {
  return 'key' in frame && typeof frame.key === 'object' && 'link' in frame.key
}
