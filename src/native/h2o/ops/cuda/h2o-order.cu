#include "h2o-cuda.cuh"
#include "h2o-order.cuh"

static constexpr int H2O_ORDER_MOST_CHANNELS = 2048; // what 48 KiB of shared memory have sums for

bool ggml_cuda_h2o_order_supported(const ggml_tensor * dst) {
    return dst->src[0]->ne[0] <= H2O_ORDER_MOST_CHANNELS;
}

void ggml_cuda_h2o_order(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const ggml_tensor * q = dst->src[0];

    h2o_order_args args = {};

    args.q       = (const uint32_t *) q->data;
    args.d       = q->ne[0];
    args.n_words = (args.d + 3)/4;
    args.n_head  = q->ne[1];
    args.n       = q->ne[2];
    args.out     = (int32_t *) dst->data;

    const size_t n = (size_t) args.n_head*args.n;

    ggml_cuda_pool_alloc<char4>    rounded(ctx.pool(), n*args.n_words);
    ggml_cuda_pool_alloc<uint32_t> keys   (ctx.pool(), n);
    ggml_cuda_pool_alloc<int32_t>  taken  (ctx.pool(), n);
    ggml_cuda_pool_alloc<int32_t>  moved  (ctx.pool(), n);

    args.rounded = rounded.get();
    args.keys    = keys.get();
    args.taken   = taken.get();
    args.moved   = moved.get();

    h2o_order_round<<<args.n_head, H2O_ROUND_THREADS, 0, ctx.stream()>>>(args);

    const size_t size_smem = h2o_size_sums(args) + args.n_words*sizeof(char4);

    // the first part of a level is its largest
    int level = 0;
    for (int largest = args.n; largest > GGML_H2O_BLOCK; largest = h2o_n_first(largest)) {
        const dim3 grid(1 << level, args.n_head, 1);
        h2o_order_split<<<grid, H2O_SPLIT_THREADS, size_smem, ctx.stream()>>>(args, level++);
    }
}
