// `h2o-prefill model`: a real language model to try things out with. scripts/models.mjs reads the arguments, as it reads
// those of `npm run models`.

import { runScript } from '../shell/script.js'

export const main = (argv: readonly string[]): Promise<number> => runScript('models', argv)
