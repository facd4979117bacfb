#include "h2o-attn.cuh"
#include "h2o-votes-mma.cuh"

#include "../ggml-h2o.h"

template <int D, bool is_of_head>
static void h2o_launch(ggml_backend_cuda_context & ctx, h2o_attn_args args) {
    using attn  = h2o_attn_shape<D, is_of_head>;
    using votes = h2o_votes_shape<D>;

    static_assert(attn::size_smem()  <= 99*1024, "every chip from Ampere on gives a block 99 KiB");
    static_assert(votes::size_smem() <= 99*1024, "every chip from Ampere on gives a block 99 KiB");

    cudaStream_t stream = ctx.stream();

    const size_t n_state = (size_t) args.n_rows*args.n_head*args.n_chunks;
    const size_t n_votes = (size_t) args.n_keys*args.n_head*args.n_chunks;

    ggml_cuda_pool_alloc<half> q_scaled(ctx.pool());
    args.q_scaled = args.votes ? q_scaled.alloc(n_state*D) : nullptr;

    args.n_split = h2o_n_split(args, ctx.device, votes::n_keys, votes::n_rows);

    ggml_cuda_pool_alloc<float> votes_split(ctx.pool());
    args.votes_split = args.votes && args.n_split > 1 ? votes_split.alloc(n_votes*args.n_split) : nullptr;

    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_attn_mma<D, is_of_head>), attn::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT(h2o_votes_mma<D>, votes::size_smem());

    const dim3 block(WARP_SIZE, attn::n_warps, 1);
    static_assert(!is_of_head || attn::n_rows == GGML_H2O_BLOCK, "the queries of a set are a tile");

    const dim3 grid_attn = is_of_head
        ? dim3(args.n_head/args.n_per_kv, args.n_chunks, args.n_per_kv)
        : dim3(args.n_head, args.n_chunks, (args.n_rows + attn::n_rows - 1)/attn::n_rows);
    h2o_attn_mma<D, is_of_head><<<grid_attn, block, attn::size_smem(), stream>>>(args);

    if (!args.votes) {
        return;
    }

    const dim3 grid_votes(args.n_head, args.n_chunks, (args.n_keys + votes::n_keys - 1)/votes::n_keys*args.n_split);
    h2o_votes_mma<D><<<grid_votes, block, votes::size_smem(), stream>>>(args);

    h2o_launch_votes_sum(ctx, args);
}

void h2o_launch_attn_mma(ggml_backend_cuda_context & ctx, h2o_attn_args args, int d) {
    const bool has_kernels = h2o_with_head_size(d, [&](auto size) {
        constexpr int D = decltype(size)::value;

        if (args.n_per_kv > 1 || args.order) {
            h2o_launch<D, true>(ctx, args);
        } else {
            h2o_launch<D, false>(ctx, args);
        }
    });
    GGML_ASSERT(has_kernels);
}
