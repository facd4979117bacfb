// What is measured: sets of runs, each one command line of `h2o-prefill bench` on the model that it makes by default.
// Contenders are declared in src/ts/cli/bench/contenders.ts.

/** Chunk of every run: kS+1 and kS+S/2 below are of this S. L, H and the dense tail are the defaults of the policy. */
export const S = 1024

const method = `-n 1 -b ${4 * S} -ub ${S} -t 2`

/** `name` is what tables and targets know a run by; they take what they need from the runs that are there. */
export const sets = {
  quick: {
    title: 'up to 16384 tokens, in about 10 minutes on two cores; stock with -ub 512 only',
    runs: [
      {
        name: 'lengths',
        title: 'time to first token over prompt length',
        argv: `-p 2048,4096,8192 -r 3 --contenders stock,h2o --stock-ubatch-size 512 --profile ${method}`,
      },
      {
        name: 'lengths',
        title: 'a long prompt',
        argv: `-p 16384 -r 2 --contenders stock-fa-on,h2o --stock-ubatch-size 512 ${method}`,
      },
    ],
  },
  full: {
    title: 'every figure, in an hour on two cores',
    runs: [
      {
        name: 'lengths',
        title: 'time to first token over prompt length',
        argv: `-p 4096,8192 -r 7 --contenders stock,h2o,h2o-query,h2o-two-pass --profile ${method}`,
      },
      {
        name: 'between',
        title: 'one token and half a chunk more than a whole number of chunks',
        argv: `-p ${[4, 8].flatMap((k) => [k * S, k * S + 1, k * S + S / 2])} -r 3 --contenders h2o ${method}`,
      },
      {
        name: 'short',
        title: 'prompts of a chunk and less',
        argv: `-p 128,512,${S} -r 9 --contenders stock-fa-on,dense,h2o -fa on --stock-ubatch-size ${S} ${method}`,
      },
      {
        name: 'lengths',
        title: 'long prompts; stock with the better of its physical batches above',
        argv: `-p 16384 -r 7 --contenders stock,h2o,h2o-query --stock-ubatch-size 512 --profile ${method}`,
      },
      {
        name: 'lengths',
        title: 'very long prompts; stock with -fa on, the better one above',
        argv: `-p 32768 -r 3 --contenders stock-fa-on,h2o,h2o-query --stock-ubatch-size 512 ${method}`,
      },
      {
        name: 'memory',
        title: 'peak memory, 28 layers',
        argv: `--layers 28 -p 16384 -r 1 --no-warmup --contenders stock-fa-on,h2o,h2o-query,h2o-native --stock-ubatch-size ${S} ${method}`,
      },
    ],
  },
}
