#include "kernels-attn.h"

#include "h2o-votes-mma.cuh"

extern thread_local uint4 h2o_smem[];

template <int D>
struct mma_launcher {
    static void launch(h2o_attn_args args) {
        using attn  = h2o_attn_shape<D>;
        using votes = h2o_votes_shape<D>;

        const size_t n_state = (size_t) args.n_rows*args.n_head*args.n_chunks;

        const emu_buffer q_scaled(n_state*D*sizeof(half));
        const emu_buffer votes_split(emu_n_votes(args)*args.n_split*sizeof(float));

        args.q_scaled    = q_scaled.as<half>();
        args.votes_split = emu_votes_split(args, votes_split);

        const dim3 block(WARP_SIZE, attn::n_warps, 1);
        const dim3 grid_attn (emu_n_tiles(args.n_rows, attn::n_rows),                args.n_head, args.n_chunks);
        const dim3 grid_votes(emu_n_tiles(args.n_keys, votes::n_keys)*args.n_split, args.n_head, args.n_chunks);

        emu_launch(grid_attn,  block, h2o_smem, attn::size_smem(),  [&] { h2o_attn_mma <D>(args); });
        emu_launch(grid_votes, block, h2o_smem, votes::size_smem(), [&] { h2o_votes_mma<D>(args); });
        emu_votes_sum(args);
    }
};

void emu_attn_mma(h2o_attn_args args, int d) {
    emu_for_head_size<mma_launcher>(args, d);
}
