// Products of vectors with vectors, a tile at a time, in F32: slices of both pass through shared memory, and a thread
// has four vectors of either side.

#pragma once

#include "common.cuh"

#define H2O_PRODUCT_THREADS 256
#define H2O_PRODUCT_SLICE   32 // channels

// N_X: vectors along x, where a thread's neighbours are
template <int N_X>
struct h2o_product_shape {
    static constexpr int n_threads_x = N_X/4;
    static constexpr int n_x         = N_X;
    static constexpr int n_y         = H2O_PRODUCT_THREADS/n_threads_x*4;

    static constexpr int stride_x = n_x + 4;
    static constexpr int stride_y = n_y + 4;

    static constexpr int size_smem = H2O_PRODUCT_SLICE*(stride_x + stride_y)/4; // float4
};

// channels [channel0, channel0 + H2O_PRODUCT_SLICE) of n vectors, channel after channel; zeros past the last channel
// load(i, channel, x): eight channels of vector i
template <int N, typename F>
static __device__ __forceinline__ void h2o_load_slice(float * tile, int channel0, int d, const F & load) {
    for (int i = threadIdx.x; i < N*(H2O_PRODUCT_SLICE/8); i += H2O_PRODUCT_THREADS) {
        const int vec     = i%N;
        const int channel = i/N*8;

        float x[8] = {};
        if (channel0 + channel < d) {
            load(vec, channel0 + channel, x);
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            tile[(channel + j)*(N + 4) + vec] = x[j];
        }
    }
}

// s[i][j]: vector 4*y + i with vector 4*x + j, where x = threadIdx.x % n_threads_x and y = threadIdx.x / n_threads_x
template <int N_X, typename FY, typename FX>
static __device__ __forceinline__ void h2o_product(float (&s)[4][4], float4 * smem, int d, const FY & load_y, const FX & load_x) {
    using shape = h2o_product_shape<N_X>;

    float * tile_x = (float *) smem;
    float * tile_y = tile_x + H2O_PRODUCT_SLICE*shape::stride_x;

    const int x = threadIdx.x%shape::n_threads_x*4;
    const int y = threadIdx.x/shape::n_threads_x*4;

#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            s[i][j] = 0.0f;
        }
    }

    for (int channel0 = 0; channel0 < d; channel0 += H2O_PRODUCT_SLICE) {
        __syncthreads(); // nobody reads the last slices any more
        h2o_load_slice<shape::n_y>(tile_y, channel0, d, load_y);
        h2o_load_slice<shape::n_x>(tile_x, channel0, d, load_x);
        __syncthreads();

#pragma unroll 8
        for (int c = 0; c < H2O_PRODUCT_SLICE; ++c) {
            const float4 a = *(const float4 *) (tile_y + c*shape::stride_y + y);
            const float4 b = *(const float4 *) (tile_x + c*shape::stride_x + x);

            const float ya[4] = { a.x, a.y, a.z, a.w };
            const float xb[4] = { b.x, b.y, b.z, b.w };
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    s[i][j] += ya[i]*xb[j];
                }
            }
        }
    }
}

// eight values of a row in memory
static __device__ __forceinline__ void h2o_load_8(const float * src, float (&x)[8]) {
    const float4 a = ((const float4 *) src)[0];
    const float4 b = ((const float4 *) src)[1];

    x[0] = a.x; x[1] = a.y; x[2] = a.z; x[3] = a.w;
    x[4] = b.x; x[5] = b.y; x[6] = b.z; x[7] = b.w;
}
