import type { ComponentProps } from 'react'
import { classNames } from './class-names.ts'

const looks = {
  plain: 'border-line bg-panel text-ink hover:border-accent',
  primary: 'border-accent bg-accent font-semibold text-on-accent hover:brightness-110',
  quiet: 'border-transparent bg-transparent text-muted hover:bg-soft hover:text-ink',
} as const

export interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: keyof typeof looks
}

export function Button({ look = 'plain', className, type = 'button', ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={classNames(
        'inline-flex h-8 cursor-pointer items-center justify-center gap-1.5 rounded-lg border px-3 whitespace-nowrap',
        'disabled:cursor-default disabled:opacity-50 disabled:hover:border-line aria-disabled:cursor-default aria-disabled:opacity-60',
        looks[look],
        className,
      )}
      {...rest}
    />
  )
}
