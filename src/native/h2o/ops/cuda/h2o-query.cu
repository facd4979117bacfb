#include "h2o-attn.cuh"
#include "h2o-cuda.cuh"
#include "h2o-query-choose.cuh"
#include "h2o-query-product-mma.cuh"
#include "h2o-query-score.cuh"

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

    const ggml_tensor * q         = dst->src[0];
    const ggml_tensor * lse       = dst->src[1];
    const ggml_tensor * k         = dst->src[2];
    const ggml_tensor * pages     = dst->src[3];
    const ggml_tensor * landmarks = dst->src[4];

    h2o_query_args args = {};

    args.p                = p;
    args.q                = (const float *) q->data;
    args.lse              = (const float *) lse->data;
    args.k                = h2o_kv_of(k, false);
    args.pages            = (const float *) pages->data;
    args.pages_stride     = pages->nb[2]/sizeof(float);
    args.landmarks        = (const int32_t *) landmarks->data;
    args.landmarks_stride = landmarks->nb[1]/sizeof(int32_t);
    args.d                = k->ne[0];
    args.means_stride     = p.n_pages*k->ne[0];
    args.n_head           = q->ne[1];
    args.n_group          = args.n_head/k->ne[2];
    args.n_queries        = q->ne[2];
    args.n_blocks         = dst->ne[2];
    args.n_searched       = p.n_picked*GGML_H2O_PAGE + p.n_cand - p.n_pages*GGML_H2O_PAGE;
    args.n_tiles          = h2o_n_tiles(args.n_searched, GGML_H2O_PAGE);
    args.n_set            = dst->ne[0];
    args.out              = (int32_t *) dst->data;
    args.out_stride       = dst->nb[1]/sizeof(int32_t);
    args.out_stride_block = dst->nb[2]/sizeof(int32_t);

    return args;
}

// P: the product of tiles; grid: (1, heads, blocks of queries)
template <typename P>
static void h2o_launch_query(ggml_backend_cuda_context & ctx, h2o_query_args args, const dim3 & grid) {
    using pages  = h2o_query_pages<P>;
    using keys   = h2o_query_keys<P>;
    using wanted = h2o_query_wanted_keys<P>;

    CUDA_SET_SHARED_MEMORY_LIMIT(h2o_query_wants<P>,            P::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_query_most<P, pages>),    P::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_query_scores<P, pages>),  P::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_query_most<P, keys>),     P::size_smem());
    CUDA_SET_SHARED_MEMORY_LIMIT((h2o_query_scores<P, wanted>), P::size_smem());

    cudaStream_t stream = ctx.stream();

    const int n_head_kv = args.n_head/args.n_group;

    // queries that are loaded once for many tiles, but blocks enough for a device
    const auto n_of_block = [](int n_tiles) { return n_tiles < 64 ? 2 : 8; };
    const auto grid_of    = [&](int n_tiles) { return dim3(h2o_n_tiles(n_tiles, n_of_block(n_tiles)), grid.y, grid.z); };

    h2o_query_asking<P><<<grid, H2O_ASKING_THREADS, 0, stream>>>(args);

    if (args.p.n_landmarks > 0) {
        const dim3 grid_wants(h2o_n_tiles(args.p.n_landmarks, P::n_y), grid.y, h2o_n_tiles(grid.z, H2O_BLOCKS_OF_NEEDY));
        h2o_query_wants<P><<<grid_wants, P::block(), P::size_smem(), stream>>>(args);
    }
    h2o_query_choose_landmarks<<<grid, H2O_CHOOSE_THREADS, 0, stream>>>(args);

    if (args.picked) {
        const int n_pieces = args.p.n_pages*args.d/4;
        const int n_tiles  = h2o_n_tiles(args.p.n_pages, P::n_x);

        h2o_query_means<P><<<dim3(h2o_n_tiles(n_pieces, H2O_ASKING_THREADS), n_head_kv), H2O_ASKING_THREADS, 0, stream>>>(
                args.pages, args.pages_stride, (typename P::operand *) args.means, args.means_stride, n_pieces);
        h2o_query_most<P, pages><<<grid_of(n_tiles), P::block(), P::size_smem(), stream>>>(args, n_of_block(n_tiles));
        h2o_query_page_shift<<<grid, GGML_H2O_BLOCK, 0, stream>>>(args, n_tiles);
        h2o_query_scores<P, pages><<<grid_of(n_tiles), P::block(), P::size_smem(), stream>>>(args, n_of_block(n_tiles));
        h2o_query_choose_pages<<<grid, H2O_CHOOSE_THREADS, 0, stream>>>(args);
    }

    ggml_cuda_pool_alloc<half> halves(ctx.pool());
    if (std::is_same<typename P::operand, half>::value && args.k.type != GGML_TYPE_F16) {
        const int n_pieces = args.p.n_cand*args.d/8;

        halves.alloc((size_t) n_head_kv*args.p.n_cand*args.d);
        h2o_query_halves<<<dim3(h2o_n_tiles(n_pieces, H2O_ASKING_THREADS), n_head_kv), H2O_ASKING_THREADS, 0, stream>>>(args, halves.get());
        args.k = h2o_kv_of_halves(halves.get(), args.d, args.p.n_cand);
    }

    h2o_query_most<P, keys><<<grid_of(args.n_tiles), P::block(), P::size_smem(), stream>>>(args, n_of_block(args.n_tiles));
    h2o_query_key_shift<<<grid, dim3(GGML_H2O_BLOCK, H2O_SHIFT_PARTS), 0, stream>>>(args);
    h2o_query_wanted_pages<<<grid, H2O_CHOOSE_THREADS, 0, stream>>>(args);
    h2o_query_scores<P, wanted><<<grid_of(args.n_tiles), P::block(), P::size_smem(), stream>>>(args, n_of_block(args.n_tiles));
    h2o_query_choose_set<<<grid, H2O_CHOOSE_THREADS, 0, stream>>>(args);
}

void ggml_cuda_h2o_query(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    h2o_query_args args = h2o_query_args_of(dst);

    const ggml_h2o_query_params & p = args.p;

    const dim3 grid(1, dst->ne[1], dst->ne[2]); // heads, blocks of queries

    if (args.n_set == p.n_cand) {
        h2o_query_take_all<<<grid, H2O_CHOOSE_THREADS, 0, ctx.stream()>>>(args);
        return;
    }

    const bool picks_pages = p.n_picked < p.n_pages;

    const size_t n = (size_t) grid.y*grid.z;

    // operands are floats or halves
    ggml_cuda_pool_alloc<float>    needy      (ctx.pool(), n*H2O_NEEDY_TILE*args.d);
    ggml_cuda_pool_alloc<float>    needy_shift(ctx.pool(), n*H2O_NEEDY_TILE);
    ggml_cuda_pool_alloc<float>    scaled     (ctx.pool(), n*GGML_H2O_BLOCK*args.d);
    ggml_cuda_pool_alloc<float>    means      (ctx.pool(), (int64_t) args.n_head/args.n_group*p.n_pages*args.d);
    ggml_cuda_pool_alloc<float>    near       (ctx.pool(), n*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<float>    page_most  (ctx.pool(), n*h2o_n_tiles(p.n_pages, GGML_H2O_PAGE)*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<float>    page_shift (ctx.pool(), n*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<uint32_t> wants      (ctx.pool(), n*std::max(1, p.n_landmarks));
    ggml_cuda_pool_alloc<uint32_t> page_scores(ctx.pool(), n*std::max(1, p.n_pages));
    ggml_cuda_pool_alloc<uint32_t> key_scores (ctx.pool(), n*args.n_searched);
    ggml_cuda_pool_alloc<float>    key_most   (ctx.pool(), n*args.n_tiles*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<float>    key_shift  (ctx.pool(), n*GGML_H2O_BLOCK);
    ggml_cuda_pool_alloc<float>    key_best   (ctx.pool(), n*args.n_tiles);
    ggml_cuda_pool_alloc<float>    least      (ctx.pool(), n);
    ggml_cuda_pool_alloc<int32_t>  wanted     (ctx.pool(), n*args.n_tiles);
    ggml_cuda_pool_alloc<int32_t>  n_wanted   (ctx.pool(), n);
    ggml_cuda_pool_alloc<int32_t>  by_need    (ctx.pool(), n*std::max(1, p.n_by_need));
    ggml_cuda_pool_alloc<int32_t>  n_by_need  (ctx.pool(), n);
    ggml_cuda_pool_alloc<int32_t>  picked     (ctx.pool(), n*std::max(1, p.n_picked));
    ggml_cuda_pool_alloc<int32_t>  by_all     (ctx.pool(), n*args.n_set);

    args.needy       = needy.get();
    args.needy_shift = needy_shift.get();
    args.scaled      = scaled.get();
    args.means       = means.get();
    args.near        = near.get();
    args.page_most   = page_most.get();
    args.page_shift  = page_shift.get();
    args.wants       = wants.get();
    args.page_scores = page_scores.get();
    args.key_scores  = key_scores.get();
    args.key_most    = key_most.get();
    args.key_shift   = key_shift.get();
    args.key_best    = key_best.get();
    args.least       = least.get();
    args.wanted      = wanted.get();
    args.n_wanted    = n_wanted.get();
    args.by_need     = by_need.get();
    args.n_by_need   = n_by_need.get();
    args.picked      = picks_pages ? picked.get() : nullptr;
    args.by_all      = by_all.get();

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
