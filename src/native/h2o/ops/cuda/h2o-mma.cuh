// Operands of tensor cores from tiles in shared memory. They are ggml-cuda's (mma.cuh), but a lane computes one address of
// 32 bits for a whole tile, and a right operand lies in the registers in which the instruction takes it.

#pragma once

#include "h2o-tile-load.cuh"

#include "mma.cuh"

typedef ggml_cuda_mma::tile<16,  8, half2> h2o_tile_ab; // 16 rows (or columns) x 16 of the inner dimension
typedef ggml_cuda_mma::tile<16, 16, float> h2o_tile_c;  // element l: row (l/2)%2*8 + lane/4, column l/4*8 + lane%4*2 + l%2

// where a lane reads operands in a tile of rows R
template <typename R>
class h2o_operands {
    uint32_t row;
    uint32_t place; // of its piece, in bytes

    __device__ __forceinline__ h2o_operands(const half2 * tile, int row, int piece) :
        row(ggml_cuda_cvta_generic_to_shared((void *) (tile + row*R::stride))), place(R::place(row, piece)*16) {}

public:
    // left ones; transposed, right ones
    static __device__ __forceinline__ h2o_operands a(const half2 * tile) {
        return { tile, (int) threadIdx.x%16, (int) threadIdx.x/16 };
    }

    static __device__ __forceinline__ h2o_operands b(const half2 * tile) {
        return { tile, (int) (threadIdx.x/16*8 + threadIdx.x%8), (int) threadIdx.x/8%2 };
    }

    // 16 rows from row0 on, a multiple of eight, and the d-th 16 columns
    __device__ __forceinline__ uint32_t at(int row0, int d) const {
        return row + row0*R::stride*sizeof(half2) + (R::is_swizzled ? d*32 ^ place : d*32 + place);
    }
};

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

// 16 columns
static __device__ __forceinline__ void h2o_load_b_trans(h2o_tile_ab & b, uint32_t address) {
    int * x = (int *) b.x;
    h2o_ldmatrix<true>(x[0], x[2], x[1], x[3], address);
}
