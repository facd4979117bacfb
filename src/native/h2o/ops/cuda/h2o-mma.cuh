// Operands of tensor cores from tiles in shared memory. They are ggml-cuda's (mma.cuh), but a lane computes one address of
// 32 bits for a whole tile, and a right operand lies in the registers in which the instruction takes it.

#pragma once

#include "h2o-tile-load.cuh"

#include "mma.cuh"

typedef ggml_cuda_mma::tile<16,  8, half2> h2o_tile_ab; // 16 rows (or columns) x 16 of the inner dimension
typedef ggml_cuda_mma::tile<16, 16, float> h2o_tile_c;  // element l: row (l/2)%2*8 + lane/4, column l/4*8 + lane%4*2 + l%2

// Addresses of a lane in tiles of `stride` half2 a row; what is loaded may lie any number of rows and columns further on.
static __device__ __forceinline__ uint32_t h2o_address_a(const half2 * tile, int stride) {
    return ggml_cuda_cvta_generic_to_shared((void *) (tile + threadIdx.x%16*stride + threadIdx.x/16*4));
}

static __device__ __forceinline__ uint32_t h2o_address_b(const half2 * tile, int stride) {
    return ggml_cuda_cvta_generic_to_shared((void *) (tile + (threadIdx.x/16*8 + threadIdx.x%8)*stride + threadIdx.x/8%2*4));
}

template <bool is_trans>
static __device__ __forceinline__ void h2o_ldmatrix(int & x0, int & x1, int & x2, int & x3, uint32_t address) {
#ifdef AMPERE_MMA_AVAILABLE
    if constexpr (is_trans) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(address));
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(address));
    }
#else
    GGML_UNUSED_VARS(x0, x1, x2, x3, address);
    NO_DEVICE_CODE;
#endif // AMPERE_MMA_AVAILABLE
}

static __device__ __forceinline__ void h2o_load_a(h2o_tile_ab & a, uint32_t address) {
    int * x = (int *) a.x;
    h2o_ldmatrix<false>(x[0], x[1], x[2], x[3], address);
}

// 16 rows as columns
static __device__ __forceinline__ void h2o_load_b(h2o_tile_ab & b, uint32_t address) {
    int * x = (int *) b.x;
    h2o_ldmatrix<false>(x[0], x[2], x[1], x[3], address);
}

// 16 columns; address: as of a left operand
static __device__ __forceinline__ void h2o_load_b_trans(h2o_tile_ab & b, uint32_t address) {
    int * x = (int *) b.x;
    h2o_ldmatrix<true>(x[0], x[2], x[1], x[3], address);
}
