#include "h2o-attn.cuh"
#include "h2o-cuda.cuh"
#include "h2o-query-product-mma.cuh"
#include "h2o-query-search.cuh"
#include "h2o-query-sums.cuh"

#include <type_traits>

bool ggml_cuda_h2o_query_supported(const ggml_tensor * dst) {
    const ggml_tensor * k = dst->src[2];

    return h2o_reads_type(k->type, k->ne[0]);
}

static int h2o_n_tiles(int n, int n_tile) {
    return (n + n_tile - 1)/n_tile;
}

static h2o_query_args h2o_query_args_of(const ggml_tensor * dst) {
    const ggml_h2o_query_params & p = *ggml_h2o_get_query_params(dst);

    const ggml_tensor * q     = dst->src[0];
    const ggml_tensor * lse   = dst->src[1];
    const ggml_tensor * k     = dst->src[2];
    const ggml_tensor * pages = dst->src[3];
    const ggml_tensor * order = dst->src[4];

    h2o_query_args args = {};

    args.p                = p;
    args.q                = (const float *) q->data;
    args.order            = order ? (const int32_t *) order->data : nullptr;
    args.lse              = (const float *) lse->data;
    args.k                = h2o_kv_of(k, false);
    args.pages            = (const float *) pages->data;
    args.pages_stride     = pages->nb[2]/sizeof(float);
    args.d                = k->ne[0];
    args.means_stride     = p.n_pages*k->ne[0];
    args.n_head           = q->ne[1];
    args.n_group          = args.n_head/k->ne[2];
    args.n_queries        = q->ne[2];
    args.n_sum_tiles      = 1 + h2o_n_tiles(std::max(0, p.n_pages - 1), GGML_H2O_PAGE);
    args.n_set            = dst->ne[0];
    args.out              = (int32_t *) dst->data;
    args.out_stride       = dst->nb[1]/sizeof(int32_t);
    args.out_stride_block = dst->nb[2]/sizeof(int32_t);

    return args;
}

// P: the product of tiles; grid: (1, heads, blocks of queries)
template <typename P>
static void h2o_launch_query(ggml_backend_cuda_context & ctx, h2o_query_args args, const dim3 & grid) {
    using keys  = h2o_summed_keys<P>;
    using means = h2o_summed_means<P>;

    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_query_sums<P, keys>),  P::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_query_sums<P, means>), P::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT(h2o_query_search<P>,        P::size_smem());

    cudaStream_t stream = ctx.stream();

    const int n_head_kv = args.n_head/args.n_group;

    // queries that are loaded once for many tiles, but blocks enough for a device
    const auto n_of_block = [](int n_tiles) { return n_tiles < 64 ? 2 : 8; };
    const auto grid_of    = [&](int n_tiles) { return dim3(h2o_n_tiles(n_tiles, n_of_block(n_tiles)), grid.y, grid.z); };

    ggml_cuda_pool_alloc<half> halves(ctx.pool());
    if (std::is_same<typename P::operand, half>::value && args.k.type != GGML_TYPE_F16) {
        const int n_pieces = args.p.n_cand*args.d/8;

        halves.alloc((size_t) n_head_kv*args.p.n_cand*args.d);
        h2o_query_halves<<<dim3(h2o_n_tiles(n_pieces, H2O_OPERAND_THREADS), n_head_kv), H2O_OPERAND_THREADS, 0, stream>>>(args, halves.get());
        args.k = h2o_kv_of_halves(halves.get(), args.d, args.p.n_cand);
    }
    h2o_query_scaled<P><<<grid, H2O_OPERAND_THREADS, 0, stream>>>(args);

    h2o_query_sums<P, keys><<<grid, P::block(), P::size_smem(), stream>>>(args, 1);

    const int n_tiles_of_means = args.n_sum_tiles - means::first_tile;
    if (n_tiles_of_means > 0) {
        const int n_pieces = args.p.n_pages*args.d/4;

        h2o_query_means<P><<<dim3(h2o_n_tiles(n_pieces, H2O_OPERAND_THREADS), n_head_kv), H2O_OPERAND_THREADS, 0, stream>>>(
                args.pages, args.pages_stride, (typename P::operand *) args.means, args.means_stride, n_pieces);
        h2o_query_sums<P, means><<<grid_of(n_tiles_of_means), P::block(), P::size_smem(), stream>>>(args, n_of_block(n_tiles_of_means));
    }
    h2o_query_shift<<<grid, dim3(GGML_H2O_BLOCK, H2O_SHIFT_PARTS), 0, stream>>>(args);

    const int n_tiles = h2o_n_tiles(args.p.n_cand, GGML_H2O_PAGE);
    h2o_query_search<P><<<grid_of(n_tiles), P::block(), P::size_smem(), stream>>>(args, n_of_block(n_tiles));
    h2o_query_choose<<<grid, H2O_CHOOSE_THREADS, 0, stream>>>(args);
}

void ggml_cuda_h2o_query(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    h2o_query_args args = h2o_query_args_of(dst);

    const ggml_h2o_query_params & p = args.p;

    const dim3 grid(1, dst->ne[1], dst->ne[2]); // heads, blocks of queries

    if (args.n_set == p.n_cand) {
        h2o_query_take_all<<<grid, H2O_CHOOSE_THREADS, 0, ctx.stream()>>>(args);
        return;
    }

    const size_t n = (size_t) grid.y*grid.z;

    // operands are floats or halves
    ggml_cuda_pool_alloc<float>    scaled(ctx.pool(), n*GGML_H2O_BLOCK*args.d);
    ggml_cuda_pool_alloc<float>    means (ctx.pool(), (size_t) args.n_head/args.n_group*std::max(1, p.n_pages)*args.d);
    ggml_cuda_pool_alloc<float>    sums  (ctx.pool(), n*args.n_sum_tiles*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<float>    shift (ctx.pool(), n*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<uint32_t> keys  (ctx.pool(), n*p.n_cand);

    args.scaled = scaled.get();
    args.means  = means.get();
    args.sums   = sums.get();
    args.shift  = shift.get();
    args.keys   = keys.get();

    // F32 keys keep their precision
    const bool uses_mma = args.k.type != GGML_TYPE_F32 &&
        ampere_mma_available(ggml_cuda_info().devices[ctx.device].cc) &&
        h2o_with_head_size(args.d, [&](auto size) {
            h2o_launch_query<h2o_product_mma<decltype(size)::value>>(ctx, args, grid);
        });
    if (!uses_mma) {
        h2o_launch_query<h2o_product_f32>(ctx, args, grid);
    }
}
