'use client'

import { X } from 'lucide-react'
import { Dialog as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'
import { twMerge } from 'tailwind-merge'

export interface DialogProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly title: string
  /** The title is for screen readers only, and there is no cross: what is in it says enough. */
  readonly isBare?: boolean
  readonly className?: string
  readonly children: ReactNode
}

/** Over everything else, keeps the focus, closes with Escape. */
export function Dialog({ isOpen, onOpenChange, title, isBare = false, className, children }: DialogProps) {
  return (
    <Primitive.Root open={isOpen} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Primitive.Content
          aria-describedby={undefined}
          className={twMerge(
            'fixed top-[12vh] left-1/2 z-50 max-h-[76vh] w-[min(34rem,calc(100vw-2rem))] -translate-x-1/2 overflow-y-auto',
            'rounded-xl border border-line bg-panel p-4 shadow-2xl outline-none',
            className,
          )}
        >
          {isBare ? (
            <Primitive.Title className="sr-only">{title}</Primitive.Title>
          ) : (
            <div className="mb-3 flex items-center justify-between">
              <Primitive.Title className="text-base font-semibold">{title}</Primitive.Title>
              <Primitive.Close
                aria-label="Close"
                className="-mr-1 flex size-7 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-soft hover:text-ink"
              >
                <X aria-hidden className="size-4" />
              </Primitive.Close>
            </div>
          )}
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
