#include "kernels-attn.h"

#include "h2o-attn-plain.cuh"
#include "h2o-votes-sum.cuh"

template <int D>
struct plain_launcher {
    static void launch(h2o_attn_args args) {
        using shape = h2o_plain_shape<D>;

        const emu_buffer votes_split(emu_n_votes(args)*args.n_split*sizeof(float));

        args.votes_split = emu_votes_split(args, votes_split);

        const dim3 grid_attn (emu_n_tiles(args.n_rows, shape::n_rows),               args.n_head, args.n_chunks);
        const dim3 grid_votes(emu_n_tiles(args.n_keys, shape::n_keys)*args.n_split, args.n_head, args.n_chunks);

        emu_launch(grid_attn,  shape::n_threads, nullptr, 0, [&] { h2o_attn_plain <D>(args); });
        emu_launch(grid_votes, shape::n_threads, nullptr, 0, [&] { h2o_votes_plain<D>(args); });
        emu_votes_sum(args);
    }
};

void emu_attn_plain(h2o_attn_args args, int d) {
    emu_for_head_size<plain_launcher>(args, d);
}

void emu_votes_sum(const h2o_attn_args & args) {
    if (args.n_split == 1) {
        return;
    }

    const int n_threads = 256;
    const int n_votes   = emu_n_votes(args);

    emu_launch(emu_n_tiles(n_votes, n_threads), n_threads, nullptr, 0,
            [&] { h2o_votes_sum(args.votes_split, args.votes, n_votes, args.n_split); });
}
