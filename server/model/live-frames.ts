import type { LiveFrame } from './views.ts'

/** Frames of the live feed about one link. */
export type LinkFrame = Extract<LiveFrame, { readonly key: { readonly link: string } }>

export function isLinkFrame(frame: LiveFrame): frame is LinkFrame {
  return 'key' in frame && frame.key !== 'counters' && 'link' in frame.key
}
