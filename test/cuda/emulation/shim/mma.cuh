// In the place of ggml-cuda's mma.cuh: its tiles of these sizes, made of the same instructions with the same registers.

#pragma once

#include "common.cuh"

#include "../tensor-core.h"

namespace ggml_cuda_mma {

template <int I_, int J_, typename T>
struct tile {
    static constexpr int I  = I_;
    static constexpr int J  = J_;
    static constexpr int ne = I*J/WARP_SIZE;

    T x[ne] = {};
};

// the row of the tile whose address a lane brings to ldmatrix: the left 8 x 8 matrices are the first two. A lane is
// threadIdx.x there, too: blocks have a warp along x.
static inline const half2 * row_of_lane(const half2 * tile_begin, int stride) {
    return tile_begin + threadIdx.x%16*stride + threadIdx.x/16*4;
}

static inline void load_ldmatrix(tile<16, 8, half2> & t, const half2 * tile_begin, int stride) {
    uint32_t x[4];
    emu_ldmatrix_x4(x, row_of_lane(tile_begin, stride), false);
    memcpy((void *) t.x, x, sizeof(x));
}

// transposed as a whole: the matrices off the diagonal change places
static inline void load_ldmatrix_trans(tile<16, 8, half2> & t, const half2 * tile_begin, int stride) {
    uint32_t x[4];
    emu_ldmatrix_x4(x, row_of_lane(tile_begin, stride), true);
    std::swap(x[1], x[2]);
    memcpy((void *) t.x, x, sizeof(x));
}

static inline void mma(tile<16, 16, float> & d, const tile<16, 8, half2> & a, const tile<16, 8, half2> & b) {
    uint32_t x[4];
    uint32_t y[4];
    memcpy(x, a.x, sizeof(x));
    memcpy(y, b.x, sizeof(y));

    emu_mma_m16n8k16(d.x + 0, x, { y[0], y[2] });
    emu_mma_m16n8k16(d.x + 4, x, { y[1], y[3] });
}

} // namespace ggml_cuda_mma
