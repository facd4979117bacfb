// Choices of GGML_H2O_OP_QUERY, from scores to sets.

#pragma once

#include "h2o-lanes.cuh"
#include "h2o-query-args.cuh"

#define H2O_CHOOSE_THREADS 256

typedef h2o_top<H2O_CHOOSE_THREADS, 28> h2o_choice;

// grid: (1, heads, blocks of queries), and for the kernels below; block: H2O_CHOOSE_THREADS
static __global__ void __launch_bounds__(H2O_CHOOSE_THREADS, 3) h2o_query_choose_landmarks(const h2o_query_args args) {
    __shared__ h2o_choice::shared shared;

    const h2o_query_part part(args);

    const uint32_t * keys = args.wants + part.at*args.p.n_landmarks;
    const int32_t  * pos  = args.landmarks + part.kv_head*args.landmarks_stride;

    int32_t * by_need = args.by_need + part.at*args.p.n_by_need;

    const int n_cand = h2o_count_at_least<H2O_CHOOSE_THREADS>(keys, args.p.n_landmarks, 1);
    const int n_take = min(args.p.n_by_need, n_cand);

    h2o_choice(keys, args.p.n_landmarks, shared).take(n_take, [&](int i, int place) { by_need[place] = pos[i]; });

    if (threadIdx.x == 0) {
        args.n_by_need[part.at] = n_take;
    }
}

static __global__ void __launch_bounds__(H2O_CHOOSE_THREADS, 3) h2o_query_choose_pages(const h2o_query_args args) {
    __shared__ h2o_choice::shared shared;

    const h2o_query_part part(args);

    int32_t * picked = args.picked + part.at*args.p.n_picked;

    h2o_choice(args.page_scores + part.at*args.p.n_pages, args.p.n_pages, shared).take(args.p.n_picked,
            [&](int i, int place) { picked[place] = i; });
}

// Which pages have a wanted key: one that some query gives the least share, or the most that a key is given. The largest logits
// say it, so that the others need no score.
static __global__ void __launch_bounds__(H2O_CHOOSE_THREADS, 3) h2o_query_wanted_pages(const h2o_query_args args) {
    static_assert(GGML_H2O_BLOCK == 2*WARP_SIZE, "two queries of a lane");

    const h2o_query_part part(args);

    const int lane = threadIdx.x%WARP_SIZE;
    const int warp = threadIdx.x/WARP_SIZE;

    const float * shift = args.key_shift + part.at*GGML_H2O_BLOCK + lane;
    const float * most  = args.key_most  + part.at*args.n_tiles*GGML_H2O_BLOCK + lane;
    float       * best  = args.key_best  + part.at*args.n_tiles;

    const float shift_0 = shift[0];
    const float shift_1 = shift[WARP_SIZE];

    for (int i = warp; i < args.n_tiles; i += H2O_CHOOSE_THREADS/WARP_SIZE) {
        const float * of = most + i*GGML_H2O_BLOCK;
        const float   x  = h2o_lanes_max<WARP_SIZE>(fmaxf(fmaxf(of[0] + shift_0, of[WARP_SIZE] + shift_1), -INFINITY));

        if (lane == 0) { // a number, even where all are NaN: some page is wanted always
            best[i] = x;
        }
    }
    __syncthreads();

    if (warp > 0) {
        return;
    }
    float max = -INFINITY;
    for (int i = lane; i < args.n_tiles; i += WARP_SIZE) {
        max = fmaxf(max, best[i]);
    }
    const float least = fminf(args.p.least, h2o_lanes_max<WARP_SIZE>(max));

    int32_t * wanted = args.wanted + part.at*args.n_tiles;

    int n = 0;
    for (int i0 = 0; i0 < args.n_tiles; i0 += WARP_SIZE) {
        const int      i         = i0 + lane;
        const bool     is_wanted = i < args.n_tiles && best[i] >= least;
        const uint32_t of_lanes  = __ballot_sync(0xffffffff, is_wanted);

        if (is_wanted) {
            wanted[n + __popc(of_lanes & ((1u << lane) - 1))] = h2o_searched_page(args, part, i);
        }
        n += __popc(of_lanes);
    }
    if (lane == 0) {
        args.least   [part.at] = least;
        args.n_wanted[part.at] = n;
    }
}

// the wanted keys, of too many the best; both parts in one order
static __global__ void __launch_bounds__(H2O_CHOOSE_THREADS, 3) h2o_query_choose_set(const h2o_query_args args) {
    __shared__ h2o_choice::shared shared;

    const h2o_query_part part(args);

    const int32_t * wanted    = args.wanted + part.at*args.n_tiles; // pages
    const int       n_pages   = args.n_wanted[part.at];
    const int       n_keys    = (n_pages - 1)*GGML_H2O_PAGE + h2o_n_keys_of_page(args, wanted[n_pages - 1]);
    const int32_t * by_need   = args.by_need + part.at*args.p.n_by_need;
    const int       n_by_need = args.n_by_need[part.at];

    uint32_t * keys = args.key_scores + part.at*args.n_searched;
    for (int i = threadIdx.x; i < n_by_need; i += H2O_CHOOSE_THREADS) {
        const int page = by_need[i]/GGML_H2O_PAGE;
        const int at   = h2o_lower_bound(wanted, n_pages, page);
        if (at < n_pages && wanted[at] == page) {
            keys[at*GGML_H2O_PAGE + by_need[i]%GGML_H2O_PAGE] = 0; // is a member already
        }
    }
    __syncthreads();

    // none only where some are by need
    const int n_by_all = min(args.n_set - n_by_need,
            h2o_count_at_least<H2O_CHOOSE_THREADS>(keys, n_keys, h2o_order_key(args.least[part.at])));

    int32_t * by_all = args.by_all + part.at*args.n_set;
    int32_t * out    = args.out + part.head*args.out_stride + blockIdx.z*args.out_stride_block;

    h2o_choice(keys, n_keys, shared).take(n_by_all,
            [&](int i, int place) { by_all[place] = wanted[i/GGML_H2O_PAGE]*GGML_H2O_PAGE + i%GGML_H2O_PAGE; });
    __syncthreads();

    for (int i = threadIdx.x; i < n_by_all; i += H2O_CHOOSE_THREADS) {
        out[i + h2o_lower_bound(by_need, n_by_need, by_all[i])] = by_all[i];
    }
    for (int i = threadIdx.x; i < n_by_need; i += H2O_CHOOSE_THREADS) {
        out[i + h2o_lower_bound(by_all, n_by_all, by_need[i])] = by_need[i];
    }

    const int32_t last = max(n_by_all > 0 ? by_all[n_by_all - 1] : 0, n_by_need > 0 ? by_need[n_by_need - 1] : 0);
    for (int i = n_by_need + n_by_all + threadIdx.x; i < args.n_set; i += H2O_CHOOSE_THREADS) {
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
