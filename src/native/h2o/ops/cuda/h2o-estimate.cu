#include "h2o-attn.cuh"
#include "h2o-attn-mma.cuh"
#include "h2o-cuda.cuh"
#include "h2o-estimate.cuh"

bool ggml_cuda_h2o_estimate_supported(const ggml_tensor * dst) {
    const ggml_tensor * keys   = dst->src[1];
    const ggml_tensor * values = dst->src[2];

    return h2o_reads_type(keys->type, keys->ne[0]) && h2o_reads_type(values->type, values->ne[0]);
}

static h2o_attn_args h2o_estimate_args_of(const ggml_tensor * dst) {
    const ggml_tensor * q      = dst->src[0];
    const ggml_tensor * keys   = dst->src[1];
    const ggml_tensor * values = dst->src[2];
    const ggml_tensor * set    = dst->src[3];
    const ggml_tensor * order  = dst->src[4];

    h2o_attn_args args = {};

    args.q          = (const float *) q->data;
    args.k          = h2o_kv_of(keys, false);
    args.v          = h2o_kv_of(values, false);
    args.order      = order ? (const int32_t *) order->data : nullptr;
    args.o_prev     = (const float *) dst->src[5]->data;
    args.lse_prev   = (const float *) dst->src[6]->data;
    args.o          = (float *) dst->data;
    args.lse        = args.o + q->ne[1]*q->ne[2]*values->ne[0];
    args.n_rows     = GGML_H2O_BLOCK;
    args.n_rows_all = q->ne[2];
    args.n_head     = q->ne[1];
    args.n_per_kv   = args.n_head/keys->ne[2];
    args.n_chunks   = set->ne[2];
    args.n_group    = 1;
    args.n_split    = 1;
    args.scale      = ggml_h2o_get_estimate_params(dst)->scale;

    return args;
}

template <int D>
static void h2o_launch_mma(
        ggml_backend_cuda_context & ctx, h2o_attn_args args, const ggml_tensor * keys, const ggml_tensor * values, int n_pages) {
    using attn = h2o_attn_shape<D, true>;

    static_assert(attn::size_smem() <= 99*1024, "every chip from Ampere on gives a block 99 KiB");
    static_assert(attn::n_rows == GGML_H2O_BLOCK, "the queries of a set are a tile");

    const int n_head_kv = keys->ne[2];
    const int n_pieces  = n_pages*D/4;

    // each of them is read for many blocks of queries
    ggml_cuda_pool_alloc<half> halves(ctx.pool(), (size_t) 2*n_head_kv*n_pages*D);

    const auto halves_of = [&](const ggml_tensor * means, half * to) {
        const dim3 grid((n_pieces + H2O_HALVES_THREADS - 1)/H2O_HALVES_THREADS, n_head_kv, 1);
        h2o_estimate_halves<<<grid, H2O_HALVES_THREADS, 0, ctx.stream()>>>(
                (const float *) means->data, means->nb[2]/sizeof(float), to, n_pieces);

        return h2o_kv_of_halves(to, D, n_pages);
    };
    args.k = halves_of(keys,   halves.get());
    args.v = halves_of(values, halves.get() + (size_t) n_head_kv*n_pages*D);

    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_attn_mma<D, true, true>), attn::size_smem());

    const dim3 grid(n_head_kv, args.n_chunks, args.n_per_kv);
    h2o_attn_mma<D, true, true><<<grid, dim3(WARP_SIZE, attn::n_warps, 1), attn::size_smem(), ctx.stream()>>>(args);
}

void ggml_cuda_h2o_estimate(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const ggml_tensor * keys   = dst->src[1];
    const ggml_tensor * values = dst->src[2];
    const ggml_tensor * set    = dst->src[3];

    const int n_pages = ggml_h2o_get_estimate_params(dst)->n_pages;
    const int d_k     = keys->ne[0];
    const int d_v     = values->ne[0];
    const int room    = GGML_PAD(n_pages, h2o_product_f32::n_x);

    h2o_attn_args args = h2o_estimate_args_of(dst);

    GGML_ASSERT((uintptr_t) args.q % 16 == 0 && (uintptr_t) args.o % 16 == 0 && (uintptr_t) args.o_prev % 16 == 0);

    const size_t n = (size_t) args.n_head*args.n_chunks;

    ggml_cuda_pool_alloc<int32_t> n_left  (ctx.pool(), n);
    ggml_cuda_pool_alloc<int32_t> left    (ctx.pool(), n*room);
    ggml_cuda_pool_alloc<float>   log_left(ctx.pool(), n*room);

    const h2o_left_args left_args = {
        (const int32_t *) set->data, (int64_t) (set->nb[1]/sizeof(int32_t)), (int64_t) (set->nb[2]/sizeof(int32_t)), (int) set->ne[0],
        n_pages, n_left.get(), left.get(), log_left.get(), room,
    };
    h2o_estimate_left<<<dim3(1, args.n_head, args.n_chunks), H2O_LEFT_THREADS, 0, ctx.stream()>>>(left_args);

    args.n_left           = n_left.get();
    args.set              = left.get();
    args.log_left         = log_left.get();
    args.set_stride       = room;
    args.set_stride_chunk = (int64_t) args.n_head*room;

    const bool uses_mma = d_k == d_v && ampere_mma_available(ggml_cuda_info().devices[ctx.device].cc) &&
        h2o_with_head_size(d_k, [&](auto size) {
            h2o_launch_mma<decltype(size)::value>(ctx, args, keys, values, n_pages);
        });
    if (!uses_mma) {
        using shape = h2o_estimate_plain_shape;

        const dim3 grid((d_v + shape::n_channels - 1)/shape::n_channels, args.n_head, args.n_chunks);
        h2o_estimate_plain<<<grid, shape::n_threads, 0, ctx.stream()>>>(args, d_k, d_v);
    }
}
