'use client'

import { Popover as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

export interface PopoverProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly label: string
  /** The button that opens it. */
  readonly trigger: ReactNode
  readonly children: ReactNode
}

export function Popover({ isOpen, onOpenChange, label, trigger, children }: PopoverProps) {
  return (
    <Primitive.Root open={isOpen} onOpenChange={onOpenChange}>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          aria-label={label}
          sideOffset={6}
          collisionPadding={10}
          className="z-50 w-72 rounded-xl border border-line bg-panel p-3.5 shadow-xl outline-none"
        >
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
