// Kernels of GGML_H2O_OP_SELECT and GGML_H2O_OP_LOOKUP: the policy of ops/cpu/h2o-select.cpp, bit for bit.

#pragma once

#include "h2o-top.cuh"

#include "../ggml-h2o.h"

struct h2o_tracked_args {
    const int32_t * mem_pos;
    const float   * mem_score;
    const float   * chunk_score;

    // from head to head, in elements
    int64_t mem_pos_stride;
    int64_t mem_score_stride;
    int64_t chunk_score_stride;

    ggml_h2o_tracked n;
};

struct h2o_select_args {
    h2o_tracked_args tracked;

    int32_t pos;
    int32_t n_local;
    int32_t n_heavy;

    int32_t * out;
    int64_t   out_stride;
};

#define H2O_SELECT_THREADS 1024

typedef h2o_top<H2O_SELECT_THREADS, 8> h2o_select_top;

// grid: KV heads; block: H2O_SELECT_THREADS; shared memory: a key per candidate and a position per place in Heavy
//
// Candidates are in ascending order of position already, so the place of a chosen one is a count of those chosen before
// it.
static __global__ void __launch_bounds__(H2O_SELECT_THREADS, 1) h2o_select(const h2o_select_args args) {
    extern __shared__ uint32_t h2o_select_smem[];
    __shared__ h2o_select_top::shared shared;

    const h2o_tracked_args & t = args.tracked;

    const int32_t * mem_pos     = t.mem_pos     + blockIdx.x*t.mem_pos_stride;
    const float   * mem_score   = t.mem_score   + blockIdx.x*t.mem_score_stride;
    const float   * chunk_score = t.chunk_score + blockIdx.x*t.chunk_score_stride;

    int32_t * out = args.out + blockIdx.x*args.out_stride;

    const int tid = threadIdx.x;

    const int local_begin = max(0, args.pos - args.n_local);

    // candidates: tracked positions before Local; counted, since a search waits for memory once per step
    int n_mem = 0;
    for (int i0 = 0; i0 < t.n.n_mem; i0 += H2O_SELECT_THREADS) {
        const int i = i0 + tid;

        n_mem += __syncthreads_count(i < t.n.n_mem && mem_pos[i] < min(t.n.mem_end, local_begin));
    }
    const int n_cand = n_mem + min(max(local_begin - t.n.chunk_pos, 0), t.n.n_chunk);

    const auto pos_of = [&](int i) {
        return i < n_mem ? mem_pos[i] : t.n.chunk_pos + i - n_mem;
    };

    // Heavy: the top of them
    const int n_take = min(n_cand, args.n_heavy);
    const int n_fill = min(args.n_heavy, local_begin) - n_take;

    uint32_t * keys = h2o_select_smem;
    int32_t  * take = (int32_t *) (keys + t.n.n_mem + t.n.n_chunk);

    for (int i = tid; i < n_cand; i += H2O_SELECT_THREADS) {
        keys[i] = h2o_order_key(i < n_mem ? mem_score[i] : chunk_score[i - n_mem]);
    }
    __syncthreads();

    h2o_select_top(keys, n_cand, shared).take(n_take, [&](int i, int place) { take[place] = pos_of(i); });
    __syncthreads();

    // the lowest positions that are left fill Heavy up: a taken one has take[i] - i of them before it
    for (int i = tid; i < n_take; i += H2O_SELECT_THREADS) {
        out[i + min(n_fill, take[i] - i)] = take[i];
    }
    for (int i = tid; i < n_fill; i += H2O_SELECT_THREADS) {
        int begin = 0;
        int end   = n_take;
        while (begin < end) { // the taken ones before the i-th position that is left
            const int mid = begin + (end - begin)/2;
            if (take[mid] - mid <= i) {
                begin = mid + 1;
            } else {
                end = mid;
            }
        }
        out[i + begin] = i + begin; // every position before the last fill is in the set
    }

    for (int i = tid; i < args.pos - local_begin; i += H2O_SELECT_THREADS) {
        out[n_take + n_fill + i] = local_begin + i;
    }
}

struct h2o_lookup_args {
    h2o_tracked_args tracked;

    const int32_t * set;
    int64_t         set_stride;

    float * out;
    int64_t out_stride;
    int     n_set;
};

// grid: (places in the set / threads, KV heads)
static __global__ void h2o_lookup(const h2o_lookup_args args) {
    const h2o_tracked_args & t = args.tracked;

    const int i = blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= args.n_set) {
        return;
    }

    const int32_t * mem_pos = t.mem_pos + blockIdx.y*t.mem_pos_stride;

    const int32_t p  = args.set[blockIdx.y*args.set_stride + i];
    const int     im = h2o_lower_bound(mem_pos, t.n.n_mem, p);

    float score = 0.0f;
    if (im < t.n.n_mem && mem_pos[im] == p && p < t.n.mem_end) {
        score = t.mem_score[blockIdx.y*t.mem_score_stride + im];
    } else if (p >= t.n.chunk_pos && p < t.n.chunk_pos + t.n.n_chunk) {
        score = t.chunk_score[blockIdx.y*t.chunk_score_stride + p - t.n.chunk_pos];
    }
    args.out[blockIdx.y*args.out_stride + i] = score;
}
