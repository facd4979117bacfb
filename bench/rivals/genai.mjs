// OpenVINO GenAI as a contender: a process of genai.py for each of its modes, which answers one prompt after another.

import { fileURLToPath } from 'node:url'
import { interpreter } from '../quality/python.mjs'
import { openLines } from './lines.mjs'

const SCRIPT = fileURLToPath(new URL('genai.py', import.meta.url))

/** The Python that has the packages, if there is one; PYTHON names it. */
export const genaiPython = () => interpreter('import openvino_genai, openvino_tokenizers')

/**
 * @param {string} mode dense, xattention or trishape  @param {number} longest tokens of the longest prompt
 * @param {number} [threshold] of xattention, in place of its default
 */
export async function openGenai(program, { file, mode, threshold, threads, longest }) {
  const argv = ['-B', SCRIPT, file, mode, threads, longest, ...(threshold ? [threshold] : [])]
  const { say, close } = await openLines(`genai.py ${mode}`, program, argv)
  return {
    ask: (ids, predict) => say({ ids, predict }),
    logprobs: async (ids) => (await say({ ids })).logprobs,
    close,
  }
}
