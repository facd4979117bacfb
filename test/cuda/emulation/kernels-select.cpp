#include "kernels.h"
#include "launch.h"

extern thread_local uint32_t h2o_select_smem[];

void emu_select(const h2o_select_args & args, int n_head) {
    const size_t n_cand = (size_t) args.tracked.n.n_mem + args.tracked.n.n_chunk;
    const size_t n_smem = n_cand*sizeof(uint32_t) + std::min(n_cand, (size_t) args.n_heavy)*sizeof(int32_t);

    emu_launch(n_head, H2O_SELECT_THREADS, h2o_select_smem, n_smem, [&] { h2o_select(args); });
}

void emu_lookup(const h2o_lookup_args & args, int n_head) {
    const int n_threads = 256;

    const dim3 grid((args.n_set + n_threads - 1)/n_threads, n_head, 1);
    emu_launch(grid, n_threads, nullptr, 0, [&] { h2o_lookup(args); });
}
