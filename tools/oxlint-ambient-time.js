// `new Date()` without an argument reads the clock; oxlint has no rule of its own for it.
const noAmbientDate = {
  meta: { messages: { ambient: 'new Date() reads the clock: take `now` or a Clock' } },
  create: (context) => ({
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0)
        context.report({ node, messageId: 'ambient' })
    },
  }),
}
export default { meta: { name: 'tidewatch' }, rules: { 'no-ambient-date': noAmbientDate } }
