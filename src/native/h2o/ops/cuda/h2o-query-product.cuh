// Products of 64 vectors, along y, with 64, along x: by F32 arithmetic (h2o_product_f32) or on tensor cores
// (h2o_product_mma). A thread has n_rows of the vectors along y, each with n_cols of those along x; the n_lanes neighbouring
// lanes of a warp that share their rows have all of x between them. What multiply() is told to keep is the same as in the call
// before, so that it need not be loaded again.

#pragma once

#include "h2o-kv-read.cuh"

// vectors that are n keys of a head in the cache, from one on
struct h2o_cached_vectors {
    const h2o_kv    & kv;
    const h2o_kv_head head;
    const int         first;
    const int         n;

    // eight channels of a vector; zeros past the last one
    __device__ __forceinline__ void read_8(int i, int channel, float (&x)[8]) const {
        if (i < n) {
            h2o_read_8(kv, head, first + i, channel, x);
        }
    }
};

// vectors of d values, one behind the other: floats, or the halves that tensor cores take
template <typename T>
struct h2o_plain_vectors {
    const T * data;
    const int d;
    const int n;

    __device__ __forceinline__ const T * at(int i, int channel) const { return data + (int64_t) i*d + channel; }

    __device__ __forceinline__ void read_8(int i, int channel, float (&x)[8]) const {
        if (i >= n) {
            return;
        }
        const float * src = at(i, channel);
        const float4 a = ((const float4 *) src)[0];
        const float4 b = ((const float4 *) src)[1];

        x[0] = a.x; x[1] = a.y; x[2] = a.z; x[3] = a.w;
        x[4] = b.x; x[5] = b.y; x[6] = b.z; x[7] = b.w;
    }
};

enum h2o_kept_vectors {
    H2O_KEEP_NONE,
    H2O_KEEP_X,
    H2O_KEEP_Y,
};

// Slices of both tiles pass through shared memory, and a thread has four vectors of either side. Heads of any size that
// is a multiple of eight.
struct h2o_product_f32 {
    typedef float operand; // of plain vectors

    static constexpr int n_threads = 256;
    static constexpr int n_blocks  = 2; // on a multiprocessor
    static constexpr int n_lanes   = 16;
    static constexpr int n_x       = 64;
    static constexpr int n_y       = 64;
    static constexpr int n_rows    = 4;
    static constexpr int n_cols    = 4;

    static constexpr int n_slice = 32; // channels

    static constexpr size_t size_smem() {
        return n_slice*(n_x + 4 + n_y + 4)*sizeof(float);
    }
    static_assert(n_slice*(n_x + 4 + n_y + 4)*sizeof(float) <= 48*1024, "every chip gives a block 48 KiB");

    static dim3 block() { return dim3(n_threads); }

    static __device__ __forceinline__ void store_4(operand * dst, const float4 & x) { *(float4 *) dst = x; }

    float s[n_rows][n_cols];

    static __device__ __forceinline__ int y(int i) { return threadIdx.x/n_lanes*4 + i; }
    static __device__ __forceinline__ int x(int j) { return threadIdx.x%n_lanes*4 + j; }

    __device__ __forceinline__ float & at(int i, int j) { return s[i][j]; }

    template <typename Y, typename X>
    __device__ __forceinline__ void multiply(
            uint4 * smem, int d, const Y & vectors_y, const X & vectors_x, h2o_kept_vectors) {
        float * tile_x = (float *) smem;
        float * tile_y = tile_x + n_slice*(n_x + 4);

#pragma unroll
        for (int i = 0; i < n_rows; ++i) {
#pragma unroll
            for (int j = 0; j < n_cols; ++j) {
                s[i][j] = 0.0f;
            }
        }

        for (int channel0 = 0; channel0 < d; channel0 += n_slice) {
            __syncthreads(); // nobody reads the last slices any more
            load_slice<n_y>(tile_y, channel0, d, vectors_y);
            load_slice<n_x>(tile_x, channel0, d, vectors_x);
            __syncthreads();

#pragma unroll 8
            for (int c = 0; c < n_slice; ++c) {
                const float4 a = *(const float4 *) (tile_y + c*(n_y + 4) + y(0));
                const float4 b = *(const float4 *) (tile_x + c*(n_x + 4) + x(0));

                const float ya[4] = { a.x, a.y, a.z, a.w };
                const float xb[4] = { b.x, b.y, b.z, b.w };
#pragma unroll
                for (int i = 0; i < n_rows; ++i) {
#pragma unroll
                    for (int j = 0; j < n_cols; ++j) {
                        s[i][j] += ya[i]*xb[j];
                    }
                }
            }
        }
    }

private:
    // channel after channel; zeros past the last one. Neighbouring threads read what are neighbours in memory.
    template <int N, typename V>
    static __device__ __forceinline__ void load_slice(float * tile, int channel0, int d, const V & vectors) {
        constexpr int n_pieces = n_slice/8;

        for (int i = threadIdx.x; i < N*n_pieces; i += n_threads) {
            const int vec     = i/n_pieces;
            const int channel = i%n_pieces*8;

            float v[8] = {};
            if (channel0 + channel < d) {
                vectors.read_8(vec, channel0 + channel, v);
            }
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                tile[(channel + j)*(N + 4) + vec] = v[j];
            }
        }
    }
};
