// The best of a row of scores, by all threads of a block: ties to the lower index, and no order of threads matters.

#pragma once

#include "common.cuh"

#define H2O_TOP_THREADS 1024

// orders like the score; NaN is -inf and -0 is 0
static __device__ __forceinline__ uint32_t h2o_order_key(float score) {
    uint32_t bits = __float_as_uint(score);

    if ((bits & 0x7fffffff) > 0x7f800000) {
        bits = 0xff800000;
    }
    if (bits == 0x80000000) {
        bits = 0;
    }
    return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

// elements before i that are below p, of n ascending ones
static __device__ __forceinline__ int h2o_lower_bound(const int32_t * x, int n, int32_t p) {
    int begin = 0;
    while (begin < n) {
        const int mid = begin + (n - begin)/2;
        if (x[mid] < p) {
            begin = mid + 1;
        } else {
            n = mid;
        }
    }
    return begin;
}

// Sums of x over the threads before this one, and over all of the block. x may be two counts of 16 bits in one.
static __device__ __forceinline__ int h2o_block_scan(int x, int * warp_sums, int & total) {
    const int lane = threadIdx.x%WARP_SIZE;
    const int warp = threadIdx.x/WARP_SIZE;

    const int incl = warp_prefix_inclusive_sum(x);

    __syncthreads(); // nobody reads the last sums any more
    if (lane == WARP_SIZE - 1) {
        warp_sums[warp] = incl;
    }
    __syncthreads();

    const int sums = warp_prefix_inclusive_sum(warp_sums[lane]);

    const int before = __shfl_sync(0xffffffff, sums, max(warp - 1, 0));
    total            = __shfl_sync(0xffffffff, sums, WARP_SIZE - 1);

    return incl - x + (warp > 0 ? before : 0);
}

// how many of keys[0, n) are at least t
static __device__ __forceinline__ int h2o_count_at_least(const uint32_t * keys, int n, uint32_t t) {
    int count = 0;
    for (int i = 0; i < n; i += H2O_TOP_THREADS) {
        count += __syncthreads_count(i + (int) threadIdx.x < n && keys[i + threadIdx.x] >= t);
    }
    return count;
}

// Calls f(i, place) for the n_take largest of keys[0, n), n_take <= n: place counts those of them before i.
// warp_sums: shared, one for each warp of the block
template <typename F>
static __device__ __forceinline__ void h2o_for_top(const uint32_t * keys, int n, int n_take, int * warp_sums, const F & f) {
    if (n_take == 0) {
        return;
    }

    // the last key taken: the largest that n_take of them reach, bit by bit
    uint32_t last = 0;
    for (int bit = 31; bit >= 0; --bit) {
        if (h2o_count_at_least(keys, n, last | 1u << bit) >= n_take) {
            last |= 1u << bit;
        }
    }
    // of those that have it, the first
    const int n_above = last == 0xffffffff ? 0 : h2o_count_at_least(keys, n, last + 1);
    const int n_ties  = n_take - n_above;

    int above_before = 0;
    int ties_before  = 0;
    for (int i0 = 0; i0 < n; i0 += H2O_TOP_THREADS) {
        const int      i   = i0 + (int) threadIdx.x;
        const uint32_t key = i < n ? keys[i] : 0;

        const bool is_above = i < n && key > last;
        const bool is_tie   = i < n && key == last;

        // two counts of 16 bits each
        int total;
        const int before = h2o_block_scan((is_above ? 1 : 0) | (is_tie ? 0x10000 : 0), warp_sums, total);

        const int above = above_before + (before & 0xffff);
        const int ties  = ties_before  + (before >> 16);

        if (is_above || (is_tie && ties < n_ties)) {
            f(i, above + min(ties, n_ties));
        }
        above_before += total & 0xffff;
        ties_before  += total >> 16;
    }
}
