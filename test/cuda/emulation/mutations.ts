// Faults that the emulation has to find, one per kind: a race, a value, a rule.

export interface Mutation {
  name: string
  /** Which file of the emulation has the kernels. */
  unit: string
  header: string
  from: string
  to: string
  /** Arguments of the program. */
  args: readonly (string | number)[]
}

export const MUTATIONS: Mutation[] = [
  {
    name: 'missing-barrier',
    unit: 'kernels-mma.cpp',
    header: 'h2o-attn-mma.cuh',
    from: '__syncthreads(); // V is there, and nobody reads K any more',
    to: '',
    args: ['mma', 8, 1],
  },
  {
    name: 'mask-off-by-one',
    unit: 'kernels-mma.cpp',
    header: 'h2o-votes-mma.cuh',
    from: 'row + 0 >= first',
    to: 'row + 0 > first',
    args: ['mma', 8, 1],
  },
  {
    name: 'one-tie-too-many',
    unit: 'kernels-select.cpp',
    header: 'h2o-select.cuh',
    from: 'ties_before < n_ties',
    to: 'ties_before <= n_ties',
    args: ['select', 10, 1],
  },
  {
    name: 'sinks-as-candidates',
    unit: 'kernels-select.cpp',
    header: 'h2o-select.cuh',
    from: 'h2o_lower_bound(mem_pos, t.n.n_mem, n_sink)',
    to: '0',
    args: ['select', 30, 1],
  },
  {
    name: 'one-voter-too-few',
    unit: 'kernels-select.cpp',
    header: 'h2o-select.cuh',
    from: 'chunk_pos - p + n_step - 1',
    to: 'chunk_pos - p - 1',
    args: ['select', 30, 1],
  },
]
