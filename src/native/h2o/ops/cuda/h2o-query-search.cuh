// Which candidates the queries of a block want, and the sets that come of it.

#pragma once

#include "h2o-query-tiles.cuh"
#include "h2o-top.cuh"

// The log of the largest share that a query gives a candidate, as a key.
// grid: (so many pages, whose queries are loaded once, heads, blocks of queries)
template <typename P>
static __global__ void __launch_bounds__(P::n_threads, P::n_blocks) h2o_query_search(const h2o_query_args args, int n_of_block) {
    extern __shared__ uint4 h2o_smem[];

    const h2o_query_part part(args);
    const auto           queries = h2o_queries_of<P>(args, part);
    const float        * shift   = args.shift + part.at*GGML_H2O_BLOCK;

    h2o_for_tiles((args.p.n_cand + GGML_H2O_PAGE - 1)/GGML_H2O_PAGE, n_of_block, [&](int page, bool has_queries) {
        const auto keys = h2o_keys_of_page<P>(args, part, page);

        P product;
        product.multiply(h2o_smem, args.d, keys, queries, has_queries ? H2O_KEEP_X : H2O_KEEP_NONE);

#pragma unroll
        for (int i = 0; i < P::n_rows; ++i) {
            float best = -INFINITY;
            h2o_for_row(product, i, [&](float s, int x) { best = fmaxf(best, s + shift[x]); });
            best = h2o_lanes_max<P::n_lanes>(best);

            if (P::x(0) == 0 && P::y(i) < keys.n) {
                args.keys[part.at*args.p.n_cand + page*GGML_H2O_PAGE + P::y(i)] = h2o_order_key(best);
            }
        }
    });
}

#define H2O_CHOOSE_THREADS 256

typedef h2o_top<H2O_CHOOSE_THREADS, 28> h2o_choice;

// Position 0 and what is wanted, of too many the best.
// grid: (1, heads, blocks of queries); block: H2O_CHOOSE_THREADS
static __global__ void __launch_bounds__(H2O_CHOOSE_THREADS, 3) h2o_query_choose(const h2o_query_args args) {
    __shared__ h2o_choice::shared shared;

    const h2o_query_part part(args);

    int32_t * out = args.out + part.head*args.out_stride + blockIdx.z*args.out_stride_block;

    if (threadIdx.x == 0) {
        out[0] = 0;
    }
    // of the others
    h2o_choice choice(args.keys + part.at*args.p.n_cand + 1, args.p.n_cand - 1, shared);

    const uint32_t least    = h2o_order_key(args.p.least);
    const int      n_wanted = choice.count(least);
    const int      n        = min(n_wanted, args.n_set - 1);

    const auto take = [&](int i, int place) { out[1 + place] = 1 + i; };
    if (n == n_wanted) {
        choice.take_from(least, take);
    } else {
        choice.take(n, take);
    }
    __syncthreads();

    const int32_t last = out[n];
    for (int i = 1 + n + threadIdx.x; i < args.n_set; i += H2O_CHOOSE_THREADS) {
        out[i] = last;
    }
}

// where all candidates fit the set
static __global__ void __launch_bounds__(H2O_CHOOSE_THREADS, 3) h2o_query_take_all(const h2o_query_args args) {
    int32_t * out = args.out + blockIdx.y*args.out_stride + blockIdx.z*args.out_stride_block;

    for (int i = threadIdx.x; i < args.n_set; i += H2O_CHOOSE_THREADS) {
        out[i] = i;
    }
}
