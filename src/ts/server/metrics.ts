/** /metrics: llama.cpp's names where it has one, ours for what it does not know. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { SchedulerCounts } from '../scheduler.js'
import type { GenerateSummary } from '../types.js'
import type { Bodies } from './bodies.js'
import type { Course } from './course.js'
import type { SlotPool } from './pool.js'
import type { Recall } from './recall.js'

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640]

export class Metrics {
  readonly registry = new Registry()
  readonly #responses: Counter<'route' | 'status'>
  readonly #ttft: Histogram<'path'>
  readonly #left: Counter
  readonly #tokens: { prompt: Counter; cached: Counter; predicted: Counter }
  readonly #seconds: { prompt: Counter; predicted: Counter }

  /** @param turns of the context: how its sequences took them */
  constructor(pool: SlotPool, recall: Recall, bodies: Bodies, turns: SchedulerCounts) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry })
    const counter = (name: string, help: string) => new Counter({ name, help, registers })
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    const total = (name: string, help: string, read: () => number) =>
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    this.#tokens = {
      prompt: counter(
        'llamacpp:prompt_tokens_total',
        'Prompt tokens read, those from the cache not counted.',
      ),
      cached: counter('h2o_prompt_tokens_cached_total', 'Prompt tokens that were in a context already.'),
      predicted: counter('llamacpp:tokens_predicted_total', 'Tokens generated.'),
    }
    this.#seconds = {
      prompt: counter('llamacpp:prompt_seconds_total', 'Time spent on prompts.'),
      predicted: counter('llamacpp:tokens_predicted_seconds_total', 'Time spent on generated tokens.'),
    }
    this.#left = counter('h2o_requests_left_total', 'Requests whose client left before the answer ended.')
    this.#responses = new Counter({
      name: 'h2o_responses_total',
      help: 'Responses by route and status.',
      labelNames: ['route', 'status'],
      registers,
    })
    this.#ttft = new Histogram({
      name: 'h2o_ttft_seconds',
      help: 'From the arrival of a request to its first token, waiting included, by the path of its prompt.',
      labelNames: ['path'],
      buckets: seconds,
      registers,
    })
    const { cache } = recall
    gauge('h2o_cache_ram_bytes', 'Memory for what slots held (--cache-ram).', () => cache.bytes)
    gauge('h2o_cache_ram_states', 'States of slots in that memory.', () => cache.size)
    total('h2o_cache_ram_saved_total', 'States saved.', () => recall.saved)
    total('h2o_cache_ram_loaded_total', 'States loaded.', () => recall.loaded)
    total('h2o_cache_ram_evicted_total', 'States that made room for others.', () => cache.evicted)
    total('h2o_tokens_copied_total', 'Prompt tokens copied from other slots.', () => recall.copied)
    total('h2o_steps_total', 'Turns in which slots decoded a token each.', () => turns.steps)
    total(
      'h2o_step_calls_total',
      'Native calls of these turns: one a token, or one a turn (--cont-batching).',
      () => turns.stepCalls,
    )
    total('h2o_rows_total', 'Tokens decoded in these turns.', () => turns.rows)
    total('h2o_prompt_calls_total', 'Calls that read a part of a prompt.', () => turns.prompts)
    total('h2o_stalls_total', 'Those at whose end another slot waited to decode.', () => turns.stalls)
    gauge('h2o_body_bytes', 'Bodies of requests that have not been answered.', () => bodies.bytes)
    gauge('llamacpp:requests_processing', 'Requests with a slot.', () => pool.processing)
    gauge('llamacpp:requests_deferred', 'Requests that wait for one.', () => pool.deferred)
  }

  answered({ prefill, predicted, timings }: GenerateSummary, ttftMs: number): void {
    this.#tokens.prompt.inc(prefill.tokens)
    this.#tokens.cached.inc(prefill.cached)
    this.#tokens.predicted.inc(predicted)
    this.#seconds.prompt.inc(prefill.timings.promptMs / 1000)
    this.#seconds.predicted.inc(timings.predictedMs / 1000)
    this.#ttft.observe({ path: prefill.path }, ttftMs / 1000)
  }

  /** For a request without a whole answer: its client left, or it took too long. */
  brokenOff({ read, predicted, ms }: Course): void {
    this.#tokens.prompt.inc(read)
    this.#tokens.predicted.inc(predicted)
    this.#seconds.prompt.inc(ms.prompt / 1000)
    this.#seconds.predicted.inc(ms.predicted / 1000)
  }

  left(): void {
    this.#left.inc()
  }

  responded(route: string, status: number): void {
    this.#responses.inc({ route, status })
  }
}
