// Tiles of the tensor-core kernels in shared memory.

#pragma once

#include "h2o-attn-args.cuh"
#include "h2o-kv-read.cuh"

#include "cp-async.cuh"

// Rows of D halves, in pieces of eight. ldmatrix reads a piece of eight rows at once, and these lie in different banks: rows are
// padded by a piece, or pieces change places with those beside them, another way in each row. Padded rows cost cp.async half
// as much again of what the L2 cache gives, swizzled ones cost registers.
template <int D, bool IS_SWIZZLED = false>
struct h2o_tile_rows {
    static constexpr int  d           = D;
    static constexpr bool is_swizzled = IS_SWIZZLED;
    static constexpr int  stride      = D/2 + (is_swizzled ? 0 : 4); // in half2

    static_assert(!is_swizzled || D % 64 == 0, "eight pieces change places");

    static __device__ __forceinline__ int at(int row, int piece) { return row*stride + place(row, piece)*4; }

    static __device__ __forceinline__ int place(int row, int piece) { return is_swizzled ? piece ^ row%8 : piece; }
};

// of n loads of a thread, how many are in flight at once: where data passes through registers, nothing else hides
// latency
static constexpr __host__ __device__ int h2o_loads_ahead(int n) {
    return n % 4 == 0 ? 4 : n % 5 == 0 ? 5 : n % 3 == 0 ? 3 : 1;
}

// a value that F16 cannot hold becomes the largest one that it can; NaN stays
static __device__ __forceinline__ float h2o_clamp_f16(float x) {
    return x == x ? fminf(fmaxf(x, -65504.0f), 65504.0f) : x;
}

// eight halves at once
static __device__ __forceinline__ void h2o_store_8(half2 * dst, const float (&x)[8]) {
    __align__(16) half2 packed[4];

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        packed[i] = __floats2half2_rn(h2o_clamp_f16(x[2*i]), h2o_clamp_f16(x[2*i + 1]));
    }
    *(uint4 *) dst = *(const uint4 *) packed;
}

static __device__ __forceinline__ void h2o_store_4(half2 * dst, const float4 & x) {
    __align__(8) const half2 packed[2] = {
        __floats2half2_rn(h2o_clamp_f16(x.x), h2o_clamp_f16(x.y)),
        __floats2half2_rn(h2o_clamp_f16(x.z), h2o_clamp_f16(x.w)),
    };
    *(uint2 *) dst = *(const uint2 *) packed;
}

static __device__ __forceinline__ void h2o_copy_8(half2 * dst, const void * src) {
    cp_async_cg_16<128>(ggml_cuda_cvta_generic_to_shared(dst), src);
}

// keys [key0, key0 + n_tile) of one head; those past n_keys are zeros, for 0*NaN would still be NaN in the second
// product. F16 is copied as it is, in the background: to be waited for with cp_async_wait_all and __syncthreads.
template <typename R, int n_tile, int n_threads>
static __device__ __forceinline__ void h2o_load_tile_kv(
        half2 * tile, const h2o_kv & kv, const h2o_kv_head & head, int key0, int n_keys, int tid) {
    constexpr int n_pieces = R::d/8;

    static_assert(n_tile*n_pieces % n_threads == 0, "a tile is a whole number of pieces per thread");

    if (kv.type == GGML_TYPE_F16 && kv.is_vec) {
        if constexpr (n_threads % n_pieces == 0) {
            // a whole tile of keys that lie side by side: an addition for an address
            if (!head.set && key0 + n_tile <= n_keys) {
                const char * src = head.at(kv, key0 + tid/n_pieces) + tid%n_pieces*16;
#pragma unroll
                for (int row = 0; row < n_tile; row += n_threads/n_pieces) {
                    h2o_copy_8(tile + R::at(tid/n_pieces + row, tid%n_pieces), src);
                    src += n_threads/n_pieces*kv.nb_cell;
                }
                return;
            }
        }
#pragma unroll
        for (int i0 = 0; i0 < n_tile*n_pieces; i0 += n_threads) {
            const int row   = (i0 + tid)/n_pieces;
            const int piece = (i0 + tid)%n_pieces;

            half2 * dst = tile + R::at(row, piece);

            if (key0 + row < n_keys) {
                h2o_copy_8(dst, head.at(kv, key0 + row) + piece*16);
            } else {
                *(uint4 *) dst = make_uint4(0, 0, 0, 0);
            }
        }
        return;
    }

    constexpr int n_loads = n_tile*n_pieces/n_threads;
    constexpr int n_ahead = h2o_loads_ahead(n_loads);

#pragma unroll 1
    for (int i0 = 0; i0 < n_loads; i0 += n_ahead) {
        h2o_raw_8 raw[n_ahead] = {};

        // neighbouring threads read what are neighbours in memory
#pragma unroll
        for (int j = 0; j < n_ahead; ++j) {
            const int i     = (i0 + j)*n_threads + tid;
            const int row   = kv.is_trans ? i%n_tile : i/n_pieces;
            const int piece = kv.is_trans ? i/n_tile : i%n_pieces;

            if (key0 + row < n_keys) {
                raw[j] = h2o_fetch_8(kv, head.at(kv, key0 + row), piece*8);
            }
        }

#pragma unroll
        for (int j = 0; j < n_ahead; ++j) {
            const int i     = (i0 + j)*n_threads + tid;
            const int row   = kv.is_trans ? i%n_tile : i/n_pieces;
            const int piece = kv.is_trans ? i/n_tile : i%n_pieces;

            float x[8];
            h2o_decode_8(kv, raw[j], x); // zeros are zero in every type
            h2o_store_8(tile + R::at(row, piece), x);
        }
    }
}

// rows [row0, row0 + n_rows) of q, scaled, as F16; also left in q_scaled, if any, for the second visit. Rows past them
// are zeros.
template <typename R, int n_tile, int n_threads>
static __device__ __forceinline__ void h2o_load_tile_q(
        half2 * tile, const float * q, const h2o_rows & rows, half * q_scaled, float scale, int row0, int n_rows, int tid) {
    constexpr int n_pieces = R::d/8;
    constexpr int n_loads  = n_tile*n_pieces/n_threads;
    constexpr int n_ahead  = h2o_loads_ahead(n_loads);

    static_assert(n_tile*n_pieces % n_threads == 0, "a tile is a whole number of pieces per thread");

#pragma unroll 1
    for (int i0 = 0; i0 < n_loads; i0 += n_ahead) {
        float4 x[n_ahead][2] = {};

#pragma unroll
        for (int j = 0; j < n_ahead; ++j) {
            const int i = (i0 + j)*n_threads + tid;

            if (i/n_pieces < n_rows) {
                const float4 * src = (const float4 *) (q + rows.at(row0 + i/n_pieces)*R::d + i%n_pieces*8);

                x[j][0] = src[0];
                x[j][1] = src[1];
            }
        }

#pragma unroll
        for (int j = 0; j < n_ahead; ++j) {
            const int i = (i0 + j)*n_threads + tid;

            half2 * dst = tile + R::at(i/n_pieces, i%n_pieces);

            const float scaled[8] = {
                x[j][0].x*scale, x[j][0].y*scale, x[j][0].z*scale, x[j][0].w*scale,
                x[j][1].x*scale, x[j][1].y*scale, x[j][1].z*scale, x[j][1].w*scale,
            };
            h2o_store_8(dst, scaled);

            if (q_scaled && i/n_pieces < n_rows) {
                *(uint4 *) (q_scaled + (int64_t) i*8) = *(const uint4 *) dst;
            }
        }
    }
}

// n_rows rows of halves that lie side by side, in the background; rows past n_rows are zeros
template <typename R, int n_tile, int n_threads>
static __device__ __forceinline__ void h2o_load_tile_halves(half2 * tile, const half * rows, int n_rows, int tid) {
    constexpr int n_pieces = R::d/8;

    static_assert(n_tile*n_pieces % n_threads == 0, "a tile is a whole number of pieces per thread");

#pragma unroll
    for (int i0 = 0; i0 < n_tile*n_pieces; i0 += n_threads) {
        const int row   = (i0 + tid)/n_pieces;
        const int piece = (i0 + tid)%n_pieces;

        half2 * dst = tile + R::at(row, piece);

        if (row < n_rows) {
            h2o_copy_8(dst, rows + (int64_t) row*R::d + piece*8);
        } else {
            *(uint4 *) dst = make_uint4(0, 0, 0, 0);
        }
    }
}
