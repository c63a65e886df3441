'use client'

import { Button } from '../../components/ui/button.tsx'
import { Dialog } from '../../components/ui/dialog.tsx'
import { Field } from '../../components/ui/field.tsx'
import { renameOperator } from '../operator-name.ts'
import { useOperatorName } from '../use-operator-name.ts'
import type { DialogState } from './lazy-dialogs.tsx'

export function OperatorDialog({ isOpen, onOpenChange }: DialogState) {
  const name = useOperatorName()
  return (
    <Dialog isOpen={isOpen} onOpenChange={onOpenChange} title="Who you are" className="w-[min(24rem,calc(100vw-2rem))]">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget).get('name')
          renameOperator(typeof given === 'string' ? given : '')
          onOpenChange(false)
        }}
        className="flex flex-col gap-3"
      >
        <Field label="Your name" name="name" defaultValue={name} maxLength={64} />
        <p className="text-muted">It is written beside every change you make. There is no login yet, so it proves nothing.</p>
        <Button type="submit" look="primary">
          Save
        </Button>
      </form>
    </Dialog>
  )
}
