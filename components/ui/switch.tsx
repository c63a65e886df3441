'use client'

import { Switch as Primitive } from 'radix-ui'

export interface SwitchProps {
  readonly id: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
  readonly isDisabled?: boolean
  readonly describedBy?: string
}

export function Switch({ id, isOn, onChange, isDisabled = false, describedBy }: SwitchProps) {
  return (
    <Primitive.Root
      id={id}
      checked={isOn}
      onCheckedChange={onChange}
      disabled={isDisabled}
      aria-describedby={describedBy}
      className="relative h-5 w-9 shrink-0 cursor-pointer rounded-full border border-control bg-soft transition-colors disabled:cursor-default disabled:opacity-50 data-[state=checked]:border-accent data-[state=checked]:bg-accent"
    >
      <Primitive.Thumb className="block size-3.5 translate-x-0.5 rounded-full bg-control transition-transform data-[state=checked]:translate-x-[1.1rem] data-[state=checked]:bg-on-accent" />
    </Primitive.Root>
  )
}
