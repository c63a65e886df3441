import { type ComponentProps, type ReactNode, useId } from 'react'
import { classNames } from './class-names.ts'

export interface FieldProps extends Omit<ComponentProps<'input'>, 'id'> {
  readonly label: string
  /** Beside the label, and part of what the field is described by. */
  readonly hint?: ReactNode
  readonly error?: string | undefined
}

/** A labelled input; what is wrong with it stands under it and is read with it. */
export function Field({ label, hint, error, className, ...input }: FieldProps) {
  const id = useId()
  return (
    <div>
      <div className="mb-1 flex flex-wrap items-baseline gap-x-2">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <span id={`${id}-hint`} className="text-xs text-muted">
            {hint}
          </span>
        )}
      </div>
      <input
        id={id}
        aria-invalid={error !== undefined}
        aria-describedby={classNames(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`) || undefined}
        autoComplete="off"
        className={classNames(
          'h-9 w-full rounded-lg border bg-bg px-2.5 placeholder:text-muted disabled:opacity-60',
          error === undefined ? 'border-control' : 'border-stale',
          className,
        )}
        {...input}
      />
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="mt-1 text-stale-ink">
          {error}
        </p>
      )}
    </div>
  )
}
