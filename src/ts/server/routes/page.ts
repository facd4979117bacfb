/** The page at `/`: three files that the build has made of src/page. They ask the routes beside them and nobody else. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'

const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/main.js': ['main.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
} as const

/** They know no more than the package. */
export const pageUrls: readonly string[] = Object.keys(files)

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

/** @param folder what the build has made. Throws where it lacks a file. */
export function addPage(app: FastifyInstance, folder: string): void {
  for (const [url, [name, type]] of Object.entries(files)) {
    const text = readFileSync(join(folder, name))
    app.get(url, async (_, reply) => reply.headers(headers).type(type).send(text))
  }
}
