// `new Date()` without an argument and `Date()` read the clock; oxlint has no rule of its own for it.
const noAmbientDate = {
  meta: { messages: { ambient: 'reads the clock: take `now` or a Clock (server/lib/clock.ts)' } },
  create: (context) => {
    const isDate = ({ callee }) => callee.type === 'Identifier' && callee.name === 'Date'
    return {
      NewExpression(node) {
        if (isDate(node) && node.arguments.length === 0) context.report({ node, messageId: 'ambient' })
      },
      CallExpression(node) {
        if (isDate(node)) context.report({ node, messageId: 'ambient' })
      },
    }
  },
}
export default { meta: { name: 'tidewatch' }, rules: { 'no-ambient-date': noAmbientDate } }
