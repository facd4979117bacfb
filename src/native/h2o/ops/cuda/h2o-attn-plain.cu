#include "h2o-attn.cuh"
#include "h2o-attn-plain.cuh"

template <int D>
static void h2o_launch(ggml_backend_cuda_context & ctx, h2o_attn_args args) {
    using shape = h2o_plain_shape<D>;

    cudaStream_t stream = ctx.stream();

    const size_t n_votes = (size_t) args.n_keys*args.n_head*args.n_chunks;

    args.n_split = h2o_n_split(args, ctx.device, shape::n_keys, shape::n_rows);

    ggml_cuda_pool_alloc<float> votes_split(ctx.pool());
    args.votes_split = args.votes && args.n_split > 1 ? votes_split.alloc(n_votes*args.n_split) : nullptr;

    const dim3 grid_attn(args.n_head, args.n_chunks, (args.n_rows + shape::n_rows - 1)/shape::n_rows);
    h2o_attn_plain<D><<<grid_attn, shape::n_threads, 0, stream>>>(args);

    if (!args.votes) {
        return;
    }

    const dim3 grid_votes(args.n_head, args.n_chunks, (args.n_keys + shape::n_keys - 1)/shape::n_keys*args.n_split);
    h2o_votes_plain<D><<<grid_votes, shape::n_threads, 0, stream>>>(args);

    h2o_launch_votes_sum(ctx, args);
}

void h2o_launch_attn_plain(ggml_backend_cuda_context & ctx, h2o_attn_args args, int d) {
    const bool has_kernels = h2o_with_head_size(d, [&](auto size) {
        h2o_launch<decltype(size)::value>(ctx, args);
    });
    GGML_ASSERT(has_kernels);
}
