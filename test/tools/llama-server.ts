// llama-server of the patched tree: started on a port of its own, asked by its own API, and ended by a signal.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { BIN, cleanEnv, type Outcome } from './support.js'

/** A greedy answer of n tokens, whatever they are. */
export interface Question {
  prompt: string
  n_predict: number
  [field: string]: unknown
}

export interface Answer {
  tokens: number[]
  completion_probabilities: { top_logprobs: { logprob: number }[] }[]
  tokens_cached: number
  tokens_evaluated: number
  timings: { cache_n: number; prompt_n: number }
}

export class LlamaServer {
  readonly #child: ChildProcess
  #stderr = ''
  url = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.#stderr += text
      this.url ||= /listening on (http:\S+)/.exec(this.#stderr)?.[1] ?? ''
    })
  }

  static async start(args: string[]): Promise<LlamaServer> {
    const all = [
      '-t',
      '1',
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--no-warmup',
      '--metrics',
      '--slots',
      ...args,
    ]
    const child = spawn(join(BIN, 'llama-server'), all, {
      env: cleanEnv(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const server = new LlamaServer(child)
    while (server.url === '') {
      if (child.exitCode !== null) throw new Error(`llama-server ended:\n${server.#stderr}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return server
  }

  async post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: signal ?? null,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }

  ask(question: Question): Promise<Answer> {
    return this.post('/completion', { temperature: 0, ignore_eos: true, return_tokens: true, ...question })
  }

  /** A counter of /metrics. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text()
    return Number(new RegExp(`^llamacpp:${name} (\\S+)`, 'm').exec(text)?.[1])
  }

  /** Ends it, and gives what it wrote. */
  async stop(): Promise<Outcome> {
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    const [status, signal] = await closed
    if (status === null) throw new Error(`llama-server was ended by ${signal}:\n${this.#stderr}`)
    return { status, stdout: '', stderr: this.#stderr }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop()
  }
}
