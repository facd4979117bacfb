// The best of a row of scores, by all threads of a block: ties to the lower index, and no order of threads matters.

#pragma once

#include "common.cuh"

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

// The choice of the largest keys of a row by a block of N_THREADS. The first N_HELD keys of each thread stay in registers:
// most rows are read from memory once, however often they are counted.
template <int N_THREADS, int N_HELD>
struct h2o_top {
    static constexpr int n_warps = N_THREADS/WARP_SIZE;
    static constexpr int n_held  = N_THREADS*N_HELD;
    static constexpr int n_parts = n_warps*N_HELD; // of them that a warp holds in one register

    static_assert(n_parts <= N_THREADS, "a thread for each of them");

    struct shared {
        int warp_sums[2][n_warps]; // by turns, so that a sum takes one barrier
        int parts[n_parts];        // two counts of 16 bits in one
    };

    const uint32_t * keys;
    const int        n;
    shared         & mem;

    uint32_t held[N_HELD];

    __device__ __forceinline__ h2o_top(const uint32_t * keys, int n, shared & mem) : keys(keys), n(n), mem(mem) { hold(0); }

    // keys that are at least t, which is not 0; before they are taken
    __device__ __forceinline__ int count(uint32_t t) const { return count_at_least(t, 0); }

    // Calls f(i, place) for all of them, as take() does.
    template <typename F>
    __device__ __forceinline__ void take_from(uint32_t t, const F & f) {
        take_above(t - 1, 0, f);
    }

    // Calls f(i, place) for the n_take largest, n_take <= n: place counts those of them before i.
    template <typename F>
    __device__ __forceinline__ void take(int n_take, const F & f) {
        if (n_take == 0) {
            return;
        }

        // the last key taken: the largest that n_take of them reach, bit by bit
        uint32_t last    = 0;
        int      n_above = -1;
        for (int bit = 31; bit >= 0 && n_above < 0; --bit) {
            const uint32_t key   = last | 1u << bit;
            const int      count = count_at_least(key, bit%2);

            if (count == n_take) {
                last    = key - 1; // none that has it is taken
                n_above = count;
            } else if (count > n_take) {
                last = key;
            }
        }
        if (n_above < 0) {
            n_above = last == 0xffffffff ? 0 : count_at_least(last + 1, 1);
        }
        take_above(last, n_take - n_above, f);
    }

private:
    // those above `last`, and of those that have it the first n_ties
    template <typename F>
    __device__ __forceinline__ void take_above(uint32_t last, int n_ties, const F & f) {
        int above_before = 0;
        int ties_before  = 0;
        for (int begin = 0; begin < n; begin += n_held) {
            if (begin > 0) {
                hold(begin);
            }
            const int total = count_before_parts(begin, last);
#pragma unroll
            for (int j = 0; j < N_HELD; ++j) {
                const uint32_t above_of_warp = __ballot_sync(0xffffffff, is_there(begin, j) && held[j] >  last);
                const uint32_t ties_of_warp  = __ballot_sync(0xffffffff, is_there(begin, j) && held[j] == last);

                const uint32_t bit    = 1u << threadIdx.x%WARP_SIZE;
                const int      before = mem.parts[j*n_warps + threadIdx.x/WARP_SIZE];

                const bool is_above = above_of_warp & bit;
                const bool is_tie   = ties_of_warp  & bit;

                const int above = above_before + (before & 0xffff) + __popc(above_of_warp & (bit - 1));
                const int ties  = ties_before  + (before >> 16)    + __popc(ties_of_warp  & (bit - 1));

                if (is_above || (is_tie && ties < n_ties)) {
                    f(index(begin, j), above + min(ties, n_ties));
                }
            }
            above_before += total & 0xffff;
            ties_before  += total >> 16;
        }
    }

    static __device__ __forceinline__ int index(int begin, int j) { return begin + j*N_THREADS + (int) threadIdx.x; }

    __device__ __forceinline__ bool is_there(int begin, int j) const { return index(begin, j) < n; }

    __device__ __forceinline__ void hold(int begin) {
#pragma unroll
        for (int j = 0; j < N_HELD; ++j) {
            held[j] = is_there(begin, j) ? keys[index(begin, j)] : 0;
        }
    }

    // t > 0; turn: 0 and 1, not twice the same one after the other
    __device__ __forceinline__ int count_at_least(uint32_t t, int turn) const {
        int count = 0;
#pragma unroll
        for (int j = 0; j < N_HELD; ++j) {
            count += held[j] >= t;
        }
        for (int i = n_held + (int) threadIdx.x; i < n; i += N_THREADS) {
            count += keys[i] >= t;
        }
        count = warp_reduce_sum(count);

        const int lane = threadIdx.x%WARP_SIZE;
        if (lane == 0) {
            mem.warp_sums[turn][threadIdx.x/WARP_SIZE] = count;
        }
        __syncthreads();

        return warp_reduce_sum(lane < n_warps ? mem.warp_sums[turn][lane] : 0);
    }

    // Leaves in mem.parts how many of the keys held before each part are above `last` and how many have it. -> of all held
    __device__ __forceinline__ int count_before_parts(int begin, uint32_t last) {
        const int lane = threadIdx.x%WARP_SIZE;
        const int warp = threadIdx.x/WARP_SIZE;

        __syncthreads(); // nobody reads the last ones any more
#pragma unroll
        for (int j = 0; j < N_HELD; ++j) {
            const int n_above = __popc(__ballot_sync(0xffffffff, is_there(begin, j) && held[j] >  last));
            const int n_ties  = __popc(__ballot_sync(0xffffffff, is_there(begin, j) && held[j] == last));

            if (lane == 0) {
                mem.parts[j*n_warps + warp] = n_above | n_ties << 16;
            }
        }
        __syncthreads();

        const bool is_part = threadIdx.x < n_parts;
        const int  x       = is_part ? mem.parts[threadIdx.x] : 0;
        const int  incl    = warp_prefix_inclusive_sum(x);

        if (lane == WARP_SIZE - 1) {
            mem.warp_sums[0][warp] = incl;
        }
        __syncthreads();

        const int sums   = warp_prefix_inclusive_sum(lane < n_warps ? mem.warp_sums[0][lane] : 0);
        const int before = __shfl_sync(0xffffffff, sums, max(warp - 1, 0));

        if (is_part) {
            mem.parts[threadIdx.x] = incl - x + (warp > 0 ? before : 0);
        }
        __syncthreads();

        return __shfl_sync(0xffffffff, sums, WARP_SIZE - 1);
    }
};
