/** What a group of routes is given. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Service } from '../answer.js'

export interface Serving {
  app: FastifyInstance
  service: Service
  isDraining(): boolean
  /** Who shares what contexts hold with nobody else. */
  ownerOf(request: FastifyRequest): unknown
}

/** Of one group. */
export type AddRoutes = (serving: Serving) => void
