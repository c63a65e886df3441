'use client'

import { User } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import { Field } from '../../components/ui/field.tsx'
import { Popover } from '../../components/ui/popover.tsx'
import { renameOperator } from '../operator-name.ts'
import { useOperatorName } from '../use-operator-name.ts'

/** Who changes are written down as having been made by. */
export function OperatorButton() {
  const name = useOperatorName()
  const [isOpen, setOpen] = useState(false)
  return (
    <Popover
      isOpen={isOpen}
      onOpenChange={setOpen}
      label="Your name"
      trigger={
        <button
          type="button"
          aria-label={`You are ${name}. Change your name`}
          className="flex w-full cursor-pointer items-center gap-2 rounded-lg px-2.5 py-1.5 text-left text-muted hover:bg-soft hover:text-ink"
        >
          <User aria-hidden className="size-3.5 shrink-0" />
          <span className="truncate">{name}</span>
        </button>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget).get('name')
          renameOperator(typeof given === 'string' ? given : '')
          setOpen(false)
        }}
        className="flex flex-col gap-2.5"
      >
        <Field label="Your name" name="name" defaultValue={name} maxLength={64} />
        <p className="text-xs text-muted">It is written beside every change you make. There is no login yet, so it proves nothing.</p>
        <Button type="submit" look="primary">
          Save
        </Button>
      </form>
    </Popover>
  )
}
