/** What a group of routes is given. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Service } from '../answer.js'
import { ApiError } from '../api-error.js'

export interface Serving {
  app: FastifyInstance
  service: Service
  isDraining(): boolean
  /** Its context is of no use any more: a process that starts anew would be. */
  isLost(): boolean
  /** Who shares what slots hold with nobody else. */
  ownerOf(request: FastifyRequest): unknown
}

/** Of one group. */
export type AddRoutes = (serving: Serving) => void

/** Throws ApiError 503 when the server takes no more work. */
export function refuseDraining({ isDraining }: Serving): void {
  if (isDraining()) throw new ApiError(503, 'shutting_down', 'the server is shutting down')
}
