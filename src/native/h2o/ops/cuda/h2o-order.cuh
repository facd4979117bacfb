// Kernels of GGML_H2O_OP_ORDER: README.md, "Order". All of it is integers, even the rounding: fast math takes the least floats
// for zeros.

#pragma once

#include "h2o-top.cuh"

#include "../ggml-h2o.h"

struct h2o_order_args {
    const uint32_t * q; // bits of [d, n_head, n]

    int d;
    int n_words; // of four rounded channels, those behind the last one zeros
    int n_head;
    int n;

    // for each head
    char4    * rounded; // [n][n_words]
    uint32_t * keys;    // [n] the largest go into the first part
    int32_t  * taken;   // [n] places in a part of those that do, ascending
    int32_t  * moved;   // [n] queries in their new order
    int32_t  * out;     // [n]
};

#define H2O_ROUND_THREADS 1024

static __device__ __forceinline__ bool h2o_is_finite(uint32_t bits) {
    return (bits & 0x7fffffff) < 0x7f800000;
}

// a finite float is significand*2^(exponent - 150), but for its sign
struct h2o_float_parts {
    int significand;
    int exponent;

    __device__ __forceinline__ h2o_float_parts(uint32_t bits) :
        significand(bits & 0x7fffff), exponent(bits >> 23 & 0xff) {
        if (exponent > 0) {
            significand |= 0x800000;
        } else {
            exponent = 1;
        }
    }
};

// zero: the exponent of what is rounded to 1
static __device__ __forceinline__ int8_t h2o_round_query(uint32_t bits, int zero) {
    if (!h2o_is_finite(bits)) {
        return 0;
    }
    const h2o_float_parts x(bits);
    const int             shift = zero - x.exponent;

    int r = 0;
    if (shift <= 0) {
        r = x.significand << -shift;
    } else if (shift <= 25) { // to the nearest, ties to even
        r = (x.significand + (1 << (shift - 1)) - 1 + (x.significand >> shift & 1)) >> shift;
    }
    r = min(r, 127);

    return bits >> 31 ? -r : r;
}

// The queries of a head, rounded, and in their own order.
// grid: heads; block: H2O_ROUND_THREADS
static __global__ void __launch_bounds__(H2O_ROUND_THREADS, 1) h2o_order_round(const h2o_order_args args) {
    constexpr int n_warps = H2O_ROUND_THREADS/WARP_SIZE;
    static_assert(n_warps == WARP_SIZE, "a lane for each warp");

    __shared__ uint32_t of_warps[n_warps];

    const int head = blockIdx.x;
    const int lane = threadIdx.x%WARP_SIZE;
    const int warp = threadIdx.x/WARP_SIZE;

    const auto max_of_lanes = [](uint32_t x) {
#pragma unroll
        for (int i = 1; i < WARP_SIZE; i *= 2) {
            x = max(x, __shfl_xor_sync(0xffffffff, x, i));
        }
        return x;
    };
    const auto query = [&](int i) { return args.q + ((int64_t) i*args.n_head + head)*args.d; };

    uint32_t most = 0;
    for (int i = warp; i < args.n; i += n_warps) {
        for (int j = lane; j < args.d; j += WARP_SIZE) {
            const uint32_t bits = query(i)[j];

            most = max(most, h2o_is_finite(bits) ? bits & 0x7fffffff : 0);
        }
    }
    most = max_of_lanes(most);
    if (lane == 0) {
        of_warps[warp] = most;
    }
    __syncthreads();

    const h2o_float_parts largest(max_of_lanes(of_warps[lane]));

    const int zero = largest.exponent + 32 - __clz(largest.significand) - 7; // it gets seven bits

    int8_t * out = (int8_t *) (args.rounded + (int64_t) head*args.n*args.n_words);
    for (int i = warp; i < args.n; i += n_warps) {
        for (int j = lane; j < 4*args.n_words; j += WARP_SIZE) {
            out[(int64_t) i*4*args.n_words + j] = j < args.d ? h2o_round_query(query(i)[j], zero) : 0;
        }
    }
    for (int i = threadIdx.x; i < args.n; i += H2O_ROUND_THREADS) {
        args.out[(int64_t) head*args.n + i] = i;
    }
}

#define H2O_SPLIT_THREADS 512

typedef h2o_top<H2O_SPLIT_THREADS, 8> h2o_split_choice;

// of a part of n queries, those of its first part
static __host__ __device__ __forceinline__ int h2o_n_first(int n) {
    return (n + 2*GGML_H2O_BLOCK - 1)/(2*GGML_H2O_BLOCK)*GGML_H2O_BLOCK;
}

// the i-th part of a level; where there is none, a part that is not split
struct h2o_order_part {
    int begin = 0;
    int n;

    __device__ __forceinline__ h2o_order_part(int n_queries, int level, int i) : n(n_queries) {
        for (int bit = level - 1; bit >= 0 && n > GGML_H2O_BLOCK; --bit) {
            const int n_first = h2o_n_first(n);

            if (i >> bit & 1) {
                begin += n_first;
                n     -= n_first;
            } else {
                n = n_first;
            }
        }
    }
};

// Sums over rows lie word by word: first the first channels of all words, then the second ones.
static __device__ __forceinline__ int h2o_channel_of_sum(const h2o_order_args & args, int i) {
    return i%args.n_words*4 + i/args.n_words;
}

static size_t h2o_size_sums(const h2o_order_args & args) {
    return (size_t) 2*4*std::max(args.n_words, H2O_SPLIT_THREADS)*sizeof(int64_t);
}

// N sums of each channel over n rows: add(row, value, (&of_channel)[N]). sums: room for those of every thread
template <int N, typename F>
static __device__ __forceinline__ void h2o_sum_rows(const h2o_order_args & args, int n, int64_t * sums, const F & add) {
    const int n_groups = max(1, H2O_SPLIT_THREADS/args.n_words); // of threads that go through the rows by turns
    const int group    = threadIdx.x/args.n_words;
    const int n_all    = N*4*args.n_words;

    for (int word = threadIdx.x%args.n_words; group < n_groups && word < args.n_words; word += H2O_SPLIT_THREADS) {
        int64_t of_word[4][N] = {};

#pragma unroll 4
        for (int i = group; i < n; i += n_groups) {
            add(i, word, of_word);
        }
#pragma unroll
        for (int k = 0; k < N; ++k) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                sums[group*n_all + (k*4 + j)*args.n_words + word] = of_word[j][k];
            }
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < n_all; i += H2O_SPLIT_THREADS) {
        int64_t sum = 0;
        for (int g = 0; g < n_groups; ++g) {
            sum += sums[g*n_all + i];
        }
        sums[i] = sum;
    }
    __syncthreads();
}

// the channel that is wide, and its mean; by each warp
struct h2o_widest_channel {
    int channel;
    int mean;

    // sums: of values and of their squares
    __device__ __forceinline__ h2o_widest_channel(const h2o_order_args & args, int n, const int64_t * sums) {
        int64_t widest = -1;
        int     place  = 0; // among the channels

        const auto take = [&](int64_t width, int other) {
            if (width > widest || (width == widest && other < place)) {
                widest = width;
                place  = other;
            }
        };
        for (int i = threadIdx.x%WARP_SIZE; i < 4*args.n_words; i += WARP_SIZE) {
            take(n*sums[4*args.n_words + i] - sums[i]*sums[i], h2o_channel_of_sum(args, i));
        }
#pragma unroll
        for (int i = 1; i < WARP_SIZE; i *= 2) {
            const int64_t width = __shfl_xor_sync(0xffffffff, widest, i);
            const int     other = __shfl_xor_sync(0xffffffff, place,  i);
            take(width, other);
        }
        channel = place;
        mean    = (int) sums[place%4*args.n_words + place/4]/n;
    }
};

// by how much sums are shifted to have eight bits; by each warp
static __device__ __forceinline__ int h2o_shift_of_sums(const h2o_order_args & args, const int64_t * sums) {
    int64_t most = 0;
    for (int i = threadIdx.x%WARP_SIZE; i < 4*args.n_words; i += WARP_SIZE) {
        most = max(most, sums[i] < 0 ? -sums[i] : sums[i]);
    }
#pragma unroll
    for (int i = 1; i < WARP_SIZE; i *= 2) {
        const int64_t other = __shfl_xor_sync(0xffffffff, most, i);
        most = max(most, other);
    }
    return max(0, 64 - __clzll(most) - 7);
}

// The parts of a level in two.
// grid: (parts, heads); block: H2O_SPLIT_THREADS; shared memory: h2o_size_sums, and a word of the direction each
static __global__ void __launch_bounds__(H2O_SPLIT_THREADS, 1) h2o_order_split(const h2o_order_args args, int level) {
    extern __shared__ uint4 h2o_smem[];
    __shared__ h2o_split_choice::shared shared;

    const h2o_order_part part(args.n, level, blockIdx.x);
    if (part.n <= GGML_H2O_BLOCK) {
        return;
    }
    const int     tid  = threadIdx.x;
    const int     n    = part.n;
    const int64_t head = (int64_t) blockIdx.y*args.n;

    int32_t  * queries = args.out   + head + part.begin;
    uint32_t * keys    = args.keys  + head + part.begin;
    int32_t  * taken   = args.taken + head + part.begin;
    int32_t  * moved   = args.moved + head + part.begin;

    const auto row = [&](int i) { return args.rounded + (head + queries[i])*args.n_words; };

    int64_t * sums = (int64_t *) h2o_smem;
    char4   * u    = (char4 *) (sums + 2*4*max(args.n_words, H2O_SPLIT_THREADS));

    h2o_sum_rows<2>(args, n, sums, [&](int i, int word, int64_t (&of_word)[4][2]) {
        const char4 r = row(i)[word];
        const int   x[4] = { r.x, r.y, r.z, r.w };
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            of_word[j][0] += x[j];
            of_word[j][1] += x[j]*x[j];
        }
    });

    const h2o_widest_channel widest(args, n, sums);
    __syncthreads(); // nobody reads the sums any more

    h2o_sum_rows<1>(args, n, sums, [&](int i, int word, int64_t (&of_word)[4][1]) {
        const char4 r = row(i)[word];
        const int   x[4] = { r.x, r.y, r.z, r.w };
        const int   away = ((const int8_t *) row(i))[widest.channel] - widest.mean;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            of_word[j][0] += away*x[j];
        }
    });

    const int shift = h2o_shift_of_sums(args, sums);
    for (int i = tid; i < 4*args.n_words; i += H2O_SPLIT_THREADS) {
        ((int8_t *) u)[h2o_channel_of_sum(args, i)] = (int8_t) (sums[i] >> shift);
    }
    __syncthreads();

    for (int i = tid/WARP_SIZE; i < n; i += H2O_SPLIT_THREADS/WARP_SIZE) {
        int along = 0;
        for (int word = tid%WARP_SIZE; word < args.n_words; word += WARP_SIZE) {
            along = ggml_cuda_dp4a(*(const int *) (u + word), *(const int *) (row(i) + word), along);
        }
        along = warp_reduce_sum(along);

        if (tid%WARP_SIZE == 0) {
            keys[i] = 0x7fffffffu - (uint32_t) along;
        }
    }
    __syncthreads();

    const int n_first = h2o_n_first(n);

    h2o_split_choice(keys, n, shared).take(n_first, [&](int i, int place) { taken[place] = i; });
    __syncthreads();

    for (int i = tid; i < n; i += H2O_SPLIT_THREADS) {
        const int before = h2o_lower_bound(taken, n_first, i);

        moved[before < n_first && taken[before] == i ? before : n_first + i - before] = queries[i];
    }
    __syncthreads();

    for (int i = tid; i < n; i += H2O_SPLIT_THREADS) {
        queries[i] = moved[i];
    }
}
