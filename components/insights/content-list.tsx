/** What an insight says that is not about streams: its fields, nested ones indented under their name. */
export function ContentList({ content }: { readonly content: Readonly<Record<string, unknown>> }) {
  return (
    <dl aria-label="What it says" className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
      {fieldsOf(content).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function fieldsOf(content: Readonly<Record<string, unknown>>, prefix = ''): readonly (readonly [name: string, value: string])[] {
  return Object.entries(content).flatMap(([name, value]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return fieldsOf(value as Readonly<Record<string, unknown>>, path)
    return [[path, typeof value === 'string' ? value : JSON.stringify(value)] as const]
  })
}
