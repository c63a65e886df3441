import { initTRPC } from '@trpc/server'
import type { ApiContext } from './context.ts'
import { toErrorShape, toTrpcError } from './error-shape.ts'

const t = initTRPC.context<ApiContext>().create({
  // Stacks never leave the process, whatever NODE_ENV says.
  isDev: false,
  errorFormatter: ({ shape, error }) => toErrorShape(shape, error),
})

/** The one place where what the core throws becomes an answer; what nobody expected is logged here, with its cause. */
const mapErrors = t.middleware(async ({ ctx, path, next }) => {
  const result = await next()
  if (result.ok) return result
  const error = toTrpcError(result.error)
  if (error.code === 'INTERNAL_SERVER_ERROR')
    ctx.logger.error({ err: result.error.cause ?? result.error, path }, 'a call failed unexpectedly; its caller was told only that')
  throw error
})

export const router = t.router
export const createCallerFactory = t.createCallerFactory
export const procedure = t.procedure.use(mapErrors)
