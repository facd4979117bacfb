// What is measured: tasks with their lengths and numbers of contexts, and the windows of text for the perplexities.

import { front, main, S } from './settings.mjs'

/** The depths at which a passkey can be make five contexts a round; a context of the others holds five questions. */
const several = ['needle', 'needle-seam', 'records-near', 'variables-1', 'variables-2', 'copy']
const seams = (length) => 2 * (length / S - 1)

const everything = (length, passkeys, contexts) => [
  { tasks: ['passkey'], lengths: [length], contexts: passkeys },
  { tasks: ['passkey-seam'], lengths: [length], contexts: Math.max(seams(length), passkeys / 5) },
  { tasks: several, lengths: [length], contexts },
  { tasks: ['records-inside'], lengths: [length], contexts: Math.ceil((contexts * 5) / seams(length)) },
]

/**
 * `tasks`: asked in dense and in `settings`. `ablation`: the first contexts of these, asked in all other settings.
 * `text`: lengths of windows for `settings`; the longest is that of the ablations. `memory`: the setting whose memory
 * sets are compared. `times`: prefills of the longest item are timed, so many times. What is not there is not measured.
 */
export const sets = {
  full: {
    title: 'every task and setting, within half an hour on two cores',
    settings: main,
    tasks: [...everything(2048, 10, 2), ...everything(4096, 20, 4), ...everything(8192, 40, 6)],
    ablation: { length: 8192, contexts: { needle: 4, 'records-near': 4 } },
    text: { lengths: [2048, 4096, 8192], windows: 3 },
    memory: main[0],
    byContext: { lengths: [640, 1024, 2048, 4096, 8192], windows: 5 },
  },
  quick: {
    title: 'a sample of everything, to see that it works',
    settings: main,
    tasks: everything(3 * S, 5, 1),
    ablation: { length: 3 * S, contexts: { needle: 1, 'records-near': 1 } },
    text: { lengths: [3 * S], windows: 1 },
    memory: main[0],
    byContext: { lengths: [640, 1024, 3 * S], windows: 1 },
  },
  front: {
    title: 'time and quality over policy, S, L, H: what the defaults are chosen by',
    settings: front,
    tasks: [
      { tasks: ['needle', 'records-near'], lengths: [8192], contexts: 8 },
      { tasks: ['records-inside'], lengths: [8192], contexts: 4 },
    ],
    text: { lengths: [8192], windows: 3 },
    times: { rounds: 5 },
  },
  dense: {
    title: 'every family of tasks, dense: what a training run is judged by',
    settings: [],
    tasks: [512, 1024, 2048, 4096, 8192].flatMap((length) => [
      { tasks: ['passkey'], lengths: [length], contexts: 20 },
      {
        tasks: ['needle', 'pairs', 'records', 'records-near', 'copy', 'story', 'table', 'code'],
        lengths: [length],
        contexts: 6,
      },
      { tasks: ['variables-1', 'variables-2', 'variables-3'], lengths: [length], contexts: 6 },
    ]),
    byContext: { lengths: [640, 1024, 2048, 4096, 8192], windows: 5 },
  },
}
