// A tile of products on tensor cores, of F16 operands with F32 sums: they only rank, and the CPU's have 8 bits
// (ops/cpu/h2o-gemm-int8.h). Both tiles lie in shared memory as a whole.

#pragma once

#include "h2o-query-product.cuh"
#include "h2o-tile-load.cuh"

#include "mma.cuh"

template <int D, int N_X>
struct h2o_product_mma {
    static constexpr int n_warps   = N_X < 64 ? 8 : 4; // of 16 vectors along y
    static constexpr int n_threads = n_warps*WARP_SIZE;
    static constexpr int n_lanes   = 4;
    static constexpr int n_x       = N_X;
    static constexpr int n_y       = n_warps*16;
    static constexpr int n_rows    = 2;
    static constexpr int n_cols    = N_X/4;

    static constexpr int stride = h2o_tile_stride<D>();

    static constexpr size_t size_smem() {
        return (n_x + n_y)*stride*sizeof(half2);
    }
    static_assert((n_x + n_y)*stride*sizeof(half2) <= 99*1024, "every chip from Ampere on gives a block 99 KiB");

    // load_ldmatrix takes threadIdx.x for the lane
    static dim3 block() { return dim3(WARP_SIZE, n_warps); }

    // element l: row (l/2)%2*8 + lane/4, column l/4*8 + lane%4*2 + l%2
    ggml_cuda_mma::tile<16, 16, float> s[N_X/16];

    static __device__ __forceinline__ int y(int i) { return threadIdx.y*16 + i*8 + threadIdx.x/4; }
    static __device__ __forceinline__ int x(int j) { return j/4*16 + j%4/2*8 + threadIdx.x%4*2 + j%2; }

    __device__ __forceinline__ float & at(int i, int j) { return s[j/4].x[2*i + j%2 + j%4/2*4]; }

    template <typename Y, typename X>
    __device__ __forceinline__ void multiply(
            uint4 * smem, int, const Y & vectors_y, const X & vectors_x, h2o_kept_vectors kept) {
#ifdef AMPERE_MMA_AVAILABLE
        using namespace ggml_cuda_mma;

        half2 * tile_y = (half2 *) smem;
        half2 * tile_x = tile_y + n_y*stride;

        __syncthreads(); // nobody reads the last tiles any more
        if (kept != H2O_KEEP_Y) {
            load<n_y>(tile_y, vectors_y);
        }
        if (kept != H2O_KEEP_X) {
            load<n_x>(tile_x, vectors_x);
        }
        cp_async_wait_all();
        __syncthreads(); // both tiles are there

#pragma unroll
        for (int n = 0; n < N_X/16; ++n) {
            s[n] = {};
        }
#pragma unroll 4
        for (int d = 0; d < D/16; ++d) {
            tile<16, 8, half2> a;
            load_ldmatrix(a, tile_y + threadIdx.y*16*stride + d*8, stride);
#pragma unroll
            for (int n = 0; n < N_X/16; ++n) {
                tile<16, 8, half2> b;
                load_ldmatrix(b, tile_x + n*16*stride + d*8, stride);
                mma(s[n], a, b);
            }
        }
#else
        GGML_UNUSED_VARS(smem, vectors_y, vectors_x, kept);
        NO_DEVICE_CODE;
#endif // AMPERE_MMA_AVAILABLE
    }

private:
    static __device__ __forceinline__ int tid() { return threadIdx.y*WARP_SIZE + threadIdx.x; }

    template <int N>
    static __device__ __forceinline__ void load(half2 * tile, const h2o_cached_vectors & v) {
        h2o_load_tile_kv<D, N, n_threads>(tile, v.kv, v.head, v.first, v.first + v.n, tid());
    }

    template <int N>
    static __device__ __forceinline__ void load(half2 * tile, const h2o_plain_vectors & v) {
        for (int i = tid(); i < N*(D/8); i += n_threads) {
            float x[8] = {};
            v.read_8(i/(D/8), i%(D/8)*8, x);
            h2o_store_8(tile + i/(D/8)*stride + i%(D/8)*4, x);
        }
    }
};
