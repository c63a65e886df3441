import { ArrowRight } from 'lucide-react'

/** An arrow between two words, drawn: not every system has a font with one. Read as `to`. */
export function LeadsTo() {
  return (
    <>
      <ArrowRight aria-hidden className="mx-1 inline-block size-3 align-[-0.1em]" />
      <span className="sr-only"> to </span>
    </>
  )
}
