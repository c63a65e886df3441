// Loaded before the product: { shiftMs } over IPC sets its wall clock, as an operator or a time server would. Time passed stays true.
const realNow = Date.now
let shiftMs = 0
Date.now = () => realNow() + shiftMs
process.on('message', (message) => {
  if (typeof message?.shiftMs === 'number') shiftMs = message.shiftMs
})
process.channel?.unref()
