// A tile of products on tensor cores, of F16 operands with F32 sums: they only rank, and the CPU's have 8 bits
// (ops/cpu/h2o-gemm-int8.h). Both tiles lie in shared memory as a whole.

#pragma once

#include "h2o-mma.cuh"
#include "h2o-query-product.cuh"
#include "h2o-tile-load.cuh"

template <int D>
struct h2o_product_mma {
    typedef half operand; // of plain vectors

    // tiles of 16 vectors along y for a warp: two of them read the vectors along x half as often
    static constexpr int n_m       = D <= 128 ? 2 : 1;
    static constexpr int n_warps   = 4/n_m;
    static constexpr int n_threads = n_warps*WARP_SIZE;
    static constexpr int n_blocks  = D <= 128 ? 6 : 3; // on a multiprocessor of 228 KiB
    static constexpr int n_lanes   = 4;
    static constexpr int n_x       = 64;
    static constexpr int n_y       = 64;
    static constexpr int n_rows    = 2*n_m;
    static constexpr int n_cols    = n_x/4;

    typedef h2o_tile_rows<D, D == 64 || D == 128> rows; // for more, registers do not suffice on sm_87

    static constexpr int stride = rows::stride;

    static constexpr size_t size_smem() {
        return (n_x + n_y)*stride*sizeof(half2);
    }
    static_assert((n_x + n_y)*stride*sizeof(half2) <= 99*1024, "every chip from Ampere on gives a block 99 KiB");

    // h2o-mma.cuh takes threadIdx.x for the lane
    static dim3 block() { return dim3(WARP_SIZE, n_warps); }

    static __device__ __forceinline__ void store_4(operand * dst, const float4 & x) { h2o_store_4((half2 *) dst, x); }

    h2o_tile_c s[n_m][n_x/16];

    static __device__ __forceinline__ int y(int i) { return threadIdx.y*n_m*16 + i*8 + threadIdx.x/4; }
    static __device__ __forceinline__ int x(int j) { return j/4*16 + j%4/2*8 + threadIdx.x%4*2 + j%2; }

    __device__ __forceinline__ float & at(int i, int j) { return s[i/2][j/4].x[i%2*2 + j%2 + j%4/2*4]; }

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
        for (int m = 0; m < n_m; ++m) {
#pragma unroll
            for (int n = 0; n < n_x/16; ++n) {
                s[m][n] = {};
            }
        }
        const auto operands_y = h2o_operands<rows>::a(tile_y + threadIdx.y*n_m*16*stride);
        const auto operands_x = h2o_operands<rows>::b(tile_x);

#pragma unroll
        for (int d = 0; d < D/16; ++d) {
            h2o_tile_ab a[n_m];
#pragma unroll
            for (int m = 0; m < n_m; ++m) {
                h2o_load_a(a[m], operands_y.at(m*16, d));
            }
#pragma unroll
            for (int n = 0; n < n_x/16; ++n) {
                h2o_tile_ab b;
                h2o_load_b(b, operands_x.at(n*16, d));
#pragma unroll
                for (int m = 0; m < n_m; ++m) {
                    mma(s[m][n], a[m], b);
                }
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
        h2o_load_tile_kv<rows, N, n_threads>(tile, v.kv, v.head, v.first, v.first + v.n, tid());
    }

    template <int N>
    static __device__ __forceinline__ void load(half2 * tile, const h2o_plain_vectors<half> & v) {
        h2o_load_tile_halves<rows, N, n_threads>(tile, v.data, v.n, tid());
    }
};
