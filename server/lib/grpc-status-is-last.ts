import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js'

/**
 * Keeps a status that the transport itself gave. For a message that cannot be read, gRPC's library ends the call, yet goes on
 * handing out the messages before it; an answer to one of those would be written after the end, and then the peer would hear
 * neither: it would wait for ever.
 */
export const statusIsLast: ServerInterceptor = (_method, call) => {
  const { sendMetadata, sendMessage, sendStatus } = call
  let isOver = false
  // On the object itself: the library calls its own methods, past every interceptor.
  call.sendMetadata = (metadata) => {
    if (!isOver) sendMetadata.call(call, metadata)
  }
  call.sendMessage = (message, sent) => {
    if (isOver) sent()
    else sendMessage.call(call, message, sent)
  }
  call.sendStatus = (status) => {
    if (isOver) return
    isOver = true
    sendStatus.call(call, status)
  }
  return new ServerInterceptingCall(call)
}
