// The kernels of GGML_H2O_OP_ESTIMATE: attention over the pages of which a block's set left something. On tensor cores it is
// h2o_attn_mma; here is what comes before it, and attention by F32 arithmetic.

#pragma once

#include "h2o-attn-args.cuh"
#include "h2o-lanes.cuh"
#include "h2o-query-product.cuh"
#include "h2o-tile-load.cuh"

#include "../ggml-h2o.h"

#define H2O_LEFT_THREADS 256

// the sets of a chunk, and what they leave: [blocks][heads], of pages [blocks][heads][room]
struct h2o_left_args {
    const int32_t * set;
    int64_t         set_stride; // from head to head
    int64_t         set_stride_block;
    int             n_set;
    int             n_pages;

    int32_t * n_left;
    int32_t * left;
    float   * log_left;
    int       room; // whole tiles
};

// Which pages have keys that are not in a set, in ascending order, and log2 of how many; the first one has no estimate.
// grid: (1, heads, blocks of queries); block: H2O_LEFT_THREADS
static __global__ void __launch_bounds__(H2O_LEFT_THREADS) h2o_estimate_left(const h2o_left_args args) {
    constexpr int n_warps = H2O_LEFT_THREADS/WARP_SIZE;

    __shared__ int begins   [H2O_LEFT_THREADS]; // of a page's members
    __shared__ int ends     [H2O_LEFT_THREADS];
    __shared__ int n_of_warp[n_warps];

    const int     tid  = threadIdx.x;
    const int     warp = tid/WARP_SIZE;
    const int64_t at   = (int64_t) blockIdx.z*gridDim.y + blockIdx.y;

    const int32_t * set = args.set + blockIdx.y*args.set_stride + blockIdx.z*args.set_stride_block;

    int32_t * left     = args.left     + at*args.room;
    float   * log_left = args.log_left + at*args.room;

    // what equals the last member counts once (ggml_h2o_n_members)
    const int n = h2o_lower_bound(set, args.n_set - 1, set[args.n_set - 1]) + 1;

    int n_left = 0;
    int begin  = 0;

    // a page for each thread
    for (int page0 = 0; page0 < args.n_pages; page0 += H2O_LEFT_THREADS) {
        const int page = page0 + tid;
        const int end  = h2o_lower_bound(set, n, (page0 + H2O_LEFT_THREADS)*GGML_H2O_PAGE); // of the members of all of them

        begins[tid] = 0;
        ends  [tid] = 0;
        __syncthreads();

        for (int i = begin + tid; i < end; i += H2O_LEFT_THREADS) {
            const int place = set[i]/GGML_H2O_PAGE;

            if (i == begin || set[i - 1]/GGML_H2O_PAGE < place) {
                begins[place - page0] = i;
            }
            if (i + 1 == end || set[i + 1]/GGML_H2O_PAGE > place) {
                ends[place - page0] = i + 1;
            }
        }
        begin = end;
        __syncthreads(); // the members are known, and nobody reads the last counts any more

        const int      n_keys   = 0 < page && page < args.n_pages ? GGML_H2O_PAGE - (ends[tid] - begins[tid]) : 0;
        const uint32_t has_keys = __ballot_sync(0xffffffff, n_keys > 0);

        if (tid%WARP_SIZE == 0) {
            n_of_warp[warp] = __popc(has_keys);
        }
        __syncthreads();

        int place = n_left + __popc(has_keys & ((1u << tid%WARP_SIZE) - 1));
#pragma unroll
        for (int i = 0; i < n_warps; ++i) {
            place  += i < warp ? n_of_warp[i] : 0;
            n_left += n_of_warp[i];
        }
        if (n_keys > 0) {
            left    [place] = page;
            log_left[place] = log2f(n_keys);
        }
    }

    if (tid == 0) {
        args.n_left[at] = n_left;
    }
    for (int i = n_left + tid; i < args.room; i += H2O_LEFT_THREADS) {
        log_left[i] = -INFINITY;
    }
}

#define H2O_HALVES_THREADS 256

// Means as tensor cores take them.
// grid: (pieces of four channels, KV heads); block: H2O_HALVES_THREADS
static __global__ void __launch_bounds__(H2O_HALVES_THREADS) h2o_estimate_halves(
        const float * means, int64_t means_stride, half * halves, int n_pieces) {
    const int i = blockIdx.x*H2O_HALVES_THREADS + threadIdx.x;

    if (i < n_pieces) {
        const float4 x = *(const float4 *) (means + blockIdx.y*means_stride + i*4);

        h2o_store_4((half2 *) (halves + ((int64_t) blockIdx.y*n_pieces + i)*4), x);
    }
}

// the queries of a block, times scale
struct h2o_row_vectors {
    const float    * q;
    const h2o_rows & rows;
    const int        d;
    const int        n;
    const float      scale;

    __device__ __forceinline__ void read_8(int i, int channel, float (&x)[8]) const {
        if (i >= n) {
            return;
        }
        const float4 * src = (const float4 *) (q + rows.at(i)*d + channel);
        const float4 a = src[0];
        const float4 b = src[1];

        x[0] = a.x*scale; x[1] = a.y*scale; x[2] = a.z*scale; x[3] = a.w*scale;
        x[4] = b.x*scale; x[5] = b.y*scale; x[6] = b.z*scale; x[7] = b.w*scale;
    }
};

// Heads of any size that is a multiple of eight. A block of threads has some channels of the values and all logits.
struct h2o_estimate_plain_shape {
    typedef h2o_product_f32 product;

    static constexpr int n_threads  = product::n_threads;
    static constexpr int n_channels = 128;
    static constexpr int n_keys     = 32;               // values in shared memory at once
    static constexpr int stride     = product::n_x + 4; // of weights
    static constexpr int size_slices = product::size_smem();

    // of one thread: four rows, and four channels of each half
    static constexpr int n_halves = 2;

    static_assert(n_keys*n_channels*sizeof(float) <= size_slices, "values lie where the slices of products were");
    static_assert(size_slices + product::n_y*stride*sizeof(float) <= 48*1024, "every chip gives a block 48 KiB");
    static_assert(product::n_y == GGML_H2O_BLOCK, "a tile is a block of queries");
};

// Units of log(2), as in h2o-attn-mma.cuh.
// grid: (parts of the values' channels, heads, blocks of queries); block: 256
static __global__ void __launch_bounds__(h2o_estimate_plain_shape::n_threads, 2) h2o_estimate_plain(
        const h2o_attn_args args, int d_k, int d_v) {
    using shape   = h2o_estimate_plain_shape;
    using product = shape::product;

    constexpr float log2e = 1.4426950408889634f;
    constexpr float ln2   = 0.6931471805599453f;

    __shared__ uint4 smem[shape::size_slices/sizeof(uint4)];
    __shared__ float weights[product::n_y*shape::stride];

    float * tile_v = (float *) smem;

    const int tid   = threadIdx.x;
    const int head  = blockIdx.y;
    const int chunk = blockIdx.z;
    const int first = blockIdx.x*shape::n_channels;
    const int n     = min(shape::n_channels, d_v - first); // channels

    const int n_rows = h2o_n_rows(args, chunk);
    const int n_keys = args.n_left[chunk*args.n_head + head];

    const h2o_rows        rows(args, args.order, head, chunk);
    const h2o_kv_head     k(args.k, head/args.n_per_kv, 0, h2o_set_at(args, head, chunk));
    const h2o_kv_head     v(args.v, head/args.n_per_kv, 0, h2o_set_at(args, head, chunk));
    const h2o_row_vectors queries = { args.q, rows, d_k, n_rows, args.scale*log2e };

    if (n_keys == 0) {
        h2o_keep_state(args, rows, n_rows, d_v, first, n, tid, shape::n_threads);
        return;
    }

    float o[product::n_rows][shape::n_halves][4] = {};
    float m[product::n_rows];
    float l[product::n_rows];

#pragma unroll
    for (int i = 0; i < product::n_rows; ++i) {
        m[i] = -INFINITY;
        l[i] = 0.0f;
    }

    const float * log_left = h2o_log_left_at(args, head, chunk);

    for (int key0 = 0; key0 < n_keys; key0 += product::n_x) {
        product s;
        s.multiply(smem, d_k, queries, h2o_cached_vectors{ args.k, k, key0, n_keys - key0 }, H2O_KEEP_NONE);

        const float4 left = *(const float4 *) (log_left + key0 + product::x(0));

#pragma unroll
        for (int i = 0; i < product::n_rows; ++i) {
            s.at(i, 0) += left.x;
            s.at(i, 1) += left.y;
            s.at(i, 2) += left.z;
            s.at(i, 3) += left.w;

            const float m_tile = fmaxf(fmaxf(s.at(i, 0), s.at(i, 1)), fmaxf(s.at(i, 2), s.at(i, 3)));
            const float m_new  = fmaxf(m[i], h2o_lanes_max<product::n_lanes>(m_tile));

            const float  rescale = exp2f(m[i] - m_new); // 0 at the first tile
            const float4 p       = make_float4(
                    exp2f(s.at(i, 0) - m_new), exp2f(s.at(i, 1) - m_new), exp2f(s.at(i, 2) - m_new), exp2f(s.at(i, 3) - m_new));

            *(float4 *) (weights + product::y(i)*shape::stride + product::x(0)) = p;

            m[i] = m_new;
            l[i] = l[i]*rescale + h2o_lanes_sum<product::n_lanes>(p.x + p.y + p.z + p.w);
#pragma unroll
            for (int j = 0; j < shape::n_halves*4; ++j) {
                o[i][j/4][j%4] *= rescale;
            }
        }

        for (int part = 0; part < product::n_x; part += shape::n_keys) {
            __syncthreads(); // weights are there, and nobody reads keys or the last values any more
            for (int i = tid; i < shape::n_keys*(shape::n_channels/8); i += shape::n_threads) {
                const int key     = i/(shape::n_channels/8);
                const int channel = i%(shape::n_channels/8)*8;

                float x[8] = {};
                if (key0 + part + key < n_keys && channel < n) {
                    h2o_read_8(args.v, v, key0 + part + key, first + channel, x);
                }
#pragma unroll
                for (int j = 0; j < 8; j += 4) {
                    *(float4 *) (tile_v + key*shape::n_channels + channel + j) = make_float4(x[j], x[j + 1], x[j + 2], x[j + 3]);
                }
            }
            __syncthreads();

            for (int key = 0; key < shape::n_keys; key += 4) {
                float4 p[product::n_rows];
#pragma unroll
                for (int i = 0; i < product::n_rows; ++i) {
                    p[i] = *(const float4 *) (weights + product::y(i)*shape::stride + part + key);
                }
#pragma unroll
                for (int j = 0; j < 4; ++j) {
#pragma unroll
                    for (int h = 0; h < shape::n_halves; ++h) {
                        const float4 x = *(const float4 *) (tile_v + (key + j)*shape::n_channels + h*shape::n_channels/2 + product::x(0));
#pragma unroll
                        for (int i = 0; i < product::n_rows; ++i) {
                            const float w = j == 0 ? p[i].x : j == 1 ? p[i].y : j == 2 ? p[i].z : p[i].w;

                            o[i][h][0] += w*x.x;
                            o[i][h][1] += w*x.y;
                            o[i][h][2] += w*x.z;
                            o[i][h][3] += w*x.w;
                        }
                    }
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < product::n_rows; ++i) {
        if (product::y(i) >= n_rows) {
            continue;
        }
        const int64_t at_row = rows.at(product::y(i));

        const float lse      = (m[i] + log2f(l[i]))*ln2;
        const float lse_prev = args.lse_prev[at_row];
        const float weight   = h2o_share(lse, lse_prev)/l[i];
        const float other    = h2o_share(lse_prev, lse);

        if (first == 0 && product::x(0) == 0) {
            args.lse[at_row] = h2o_joint_lse(lse, lse_prev);
        }
#pragma unroll
        for (int h = 0; h < shape::n_halves; ++h) {
            const int channel = h*shape::n_channels/2 + product::x(0);

            if (channel < n) {
                const int64_t at = at_row*d_v + first + channel;
                const float4  y  = *(const float4 *) (args.o_prev + at);

                *(float4 *) (args.o + at) = make_float4(
                        o[i][h][0]*weight + y.x*other, o[i][h][1]*weight + y.y*other,
                        o[i][h][2]*weight + y.z*other, o[i][h][3]*weight + y.w*other);
            }
        }
    }
}
