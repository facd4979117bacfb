// Why a prefill was dense, in words for a person. The names are the API's and permanent, the words are not.
import type { Context, Reason } from '../index.js'

type Sizes = Pick<Context, 'nBatch' | 'nUbatch'>

export function explainReason(reason: Reason, { nBatch, nUbatch }: Sizes): string {
  const words: Record<Reason, string> = {
    off: 'H2O is switched off',
    'one-chunk': `the call holds no more than one chunk of ${nUbatch} tokens`,
    'batch-too-small': `a call takes ${nBatch} tokens (-b, and no more than -c): no more than one chunk of -ub ${nUbatch}`,
    'unsupported-architecture': 'the graph of this architecture does not show all that its attention does',
    'unsupported-memory': 'the model has no KV cache that H2O can serve',
    'unsupported-attention': 'its attention has MLA, ALiBi or a bias on the logits',
    'unsupported-context': 'pooling, a special context or tensor split',
    'unsupported-device': 'a device cannot run the method',
    'unsupported-schedule': 'two-pass needs votes, and attention in every layer to all positions',
    'multi-sequence': 'more than one sequence',
    'embedding-input': 'the input is embeddings',
    'non-causal': 'attention is not causal',
    'positions-not-consecutive': 'positions have a gap',
    'kv-not-contiguous': 'the cache has a hole, or an image before this call',
    'few-positions': 'there are too few positions to choose from',
    'many-tokens': 'the call holds more than 8 tokens',
  }
  return Object.hasOwn(words, reason) ? words[reason] : 'no explanation available'
}
