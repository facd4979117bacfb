// The object that --json prints. Its names are permanent.
import type { HeadChunk } from './recording.js'
import type { Report } from './report.js'
import { chunkFigures, type LayerFigures } from './summary.js'

export function toJson(report: Report, html: string): Record<string, unknown> {
  const { layers, figures, local, heavy } = report
  return {
    model: report.model,
    description: report.description,
    prompt_n: report.nPrompt,
    dense_tail: report.denseTail,
    schedule: report.schedule,
    select: report.select,
    n_batch: report.nBatch,
    n_ubatch: report.nUbatch,
    h2o: { local, heavy },
    sink_n: report.nSink,
    runs: report.runs,
    calls: report.calls.map(({ n, pos, path, reason, inherited }) => ({ n, pos, path, reason, inherited })),
    html,
    n_layer: layers.length,
    n_heads: layers[0]?.heads.length ?? 0,
    chunks: report.chunks,
    mean: figuresOf(report.all),
    layers: layers.map(({ layer, heads }, at) => ({
      layer,
      mean: figuresOf(figures[at] as LayerFigures),
      chunks: report.chunks.map((_, i) => {
        const { pos, headJaccard, headMemoryJaccard } = chunkFigures(heads, i, local)
        return { pos, head_jaccard: round(headJaccard), head_memory_jaccard: round(headMemoryJaccard) }
      }),
      heads: heads.map((chunks, head) => ({ head, chunks: chunks.map(chunkOf) })),
    })),
  }
}

function figuresOf({ runJaccard, ...means }: LayerFigures) {
  return {
    ...sharesOf(means),
    heavy_turnover: round(means.heavyTurnover),
    chunk_jaccard: round(means.chunkJaccard),
    head_jaccard: round(means.headJaccard),
    head_memory_jaccard: round(means.headMemoryJaccard),
    run_jaccard_min: round(runJaccard),
  }
}

function chunkOf({ pos, n, sets, shares, heavyTurnover, chunkJaccard, runJaccard }: HeadChunk) {
  return {
    pos,
    n,
    n_mem: Math.max(0, ...sets.map((set) => set.length)),
    n_sets: sets.length,
    ...sharesOf(shares),
    heavy_turnover: round(heavyTurnover),
    chunk_jaccard: round(chunkJaccard),
    run_jaccard: round(runJaccard),
  }
}

function sharesOf(
  shares: Pick<LayerFigures, 'own' | 'local' | 'heavy' | 'lost' | 'coverage' | 'oracle' | 'sink'>,
) {
  const { own, local, heavy, lost, coverage, oracle, sink } = shares
  return {
    own: round(own),
    local: round(local),
    heavy: round(heavy),
    lost: round(lost),
    coverage: round(coverage),
    oracle: round(oracle),
    sink: round(sink),
  }
}

// the sums behind them are of 32 bit numbers
function round(value: number | null): number | null {
  return value === null || !Number.isFinite(value) ? null : Math.round(value * 1e6) / 1e6
}
