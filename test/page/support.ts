/** The page of `serve` in a browser that the machine has. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { root, start } from '../cli/support/spawn.js'

const folders = (process.env.PATH ?? '').split(':')
/** undefined: there is none, and tests of the page are skipped. */
export const chromiumPath = folders.map((folder) => join(folder, 'chromium')).find((path) => existsSync(path))

/** As root it runs only without its sandbox. It opens pages of ours alone. */
export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath as string, args: ['--no-sandbox'] })

export const recallModel = join(root, 'model/recall-q8_0.gguf')

export async function serve(argv: readonly string[], env: Record<string, string> = {}) {
  const running = start(['serve', '--port', '0', '--temp', '0', ...argv], { env })
  let err = ''
  running.child.stderr.on('data', (part) => {
    err += part
  })
  await running.says('listening on')
  return {
    url: /listening on (\S+)/.exec(err)?.[1] ?? '',
    async [Symbol.asyncDispose]() {
      running.child.kill('SIGKILL')
      await running.ended
    },
  }
}

export interface Opened extends AsyncDisposable {
  page: Page
  /** What it has asked for, and what it said of errors. */
  asked: string[]
  errors: string[]
  text: ReturnType<Page['locator']>
  question: ReturnType<Page['locator']>
  button(name: string): ReturnType<Page['locator']>
  ask(question: string): Promise<void>
}

export async function open(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const page = await browser.newPage(options)
  const asked: string[] = []
  const errors: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await page.goto(url)
  const question = page.getByRole('textbox', { name: 'Questions' })
  return {
    page,
    asked,
    errors,
    text: page.getByRole('textbox', { name: 'The text' }),
    question,
    button: (name) => page.getByRole('button', { name, exact: true }),
    async ask(words) {
      await question.fill(words)
      await question.press('Enter')
    },
    [Symbol.asyncDispose]: () => page.close(),
  }
}

/** A stream as the server sends it. */
export const streamOf = (...events: object[]) =>
  [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')
