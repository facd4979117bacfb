// Who can take part.

import { genaiPython, openGenai } from './genai.mjs'
import { hasIkLlama, openIkLlama } from './ik-llama.mjs'
import { hasNodeLlamaCpp, openNodeLlamaCpp } from './node-llama-cpp.mjs'
import { openOurs } from './ours.mjs'
import { hasStock, openStock } from './stock.mjs'

const ours = (h2o) => (run) => openOurs(h2o, run)
const stock = (flashAttn) => (run) => hasStock() && openStock({ ...run, flashAttn })

let found // importing OpenVINO takes seconds
const python = () => {
  found ??= { program: genaiPython() }
  return found.program
}
const openVino = (mode, threshold) => (run) => {
  const program = python()
  return program && openGenai(program, { ...run, mode, threshold })
}

/**
 * Each opens a contender, or gives nothing where its program is missing. A contender answers `ask`; one that can tells
 * of a text by `logprobs` how likely each of its tokens was, the first left out.
 */
export const contenders = {
  dense: ours(false),
  query: ours({ select: 'query' }),
  'stock -fa on': stock('on'),
  'stock -fa off': stock('off'),
  'ik_llama.cpp': (run) => hasIkLlama() && openIkLlama(run),
  'node-llama-cpp': (run) => hasNodeLlamaCpp() && openNodeLlamaCpp(run),
  'OpenVINO dense': openVino('dense'),
  'OpenVINO xattention': openVino('xattention'),
  'OpenVINO trishape': openVino('trishape'),
}

/** Those that only take part if they are named: other sizes and thresholds, for time at the same quality. */
export const onDemand = {
  ...Object.fromEntries(
    [64, 128, 256, 384].map((heavy) => [`query H=${heavy}`, ours({ select: 'query', heavy })]),
  ),
  votes: ours({ select: 'votes' }),
  ...Object.fromEntries([0.9, 0.95].map((t) => [`OpenVINO xattention ${t}`, openVino('xattention', t)])),
}

/** What will not take part, and what would bring it. */
export function missing() {
  return [
    python() ? '' : 'OpenVINO GenAI, which this Python does not have (--help)',
    hasNodeLlamaCpp() ? '' : 'node-llama-cpp, which is not installed (--help)',
    hasIkLlama() ? '' : 'ik_llama.cpp, whose llama-bench IK_LLAMA_BENCH would name',
    hasStock() ? '' : 'stock llama.cpp, which `npm run bench:stock` builds',
  ].filter(Boolean)
}
