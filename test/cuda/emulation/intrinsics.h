// The built-in variables and functions of CUDA C++ that the kernels use: barriers, shuffles, IEEE division, bit casts.

#pragma once

#include "block.h"

#include <cstring>

#define threadIdx emu_thread_idx()
#define blockIdx  emu_block_idx
#define blockDim  emu_block_dim
#define gridDim   emu_grid_dim

static inline void __syncthreads() {
    emu_barrier(false);
}

static inline int __syncthreads_count(int predicate) {
    return emu_barrier(predicate != 0);
}

// the kernels have whole warps here
template <typename T>
static inline T __shfl_sync(unsigned, T x, int lane) {
    return emu_exchange(x)[lane % EMU_WARP_SIZE];
}

template <typename T>
static inline T __shfl_xor_sync(unsigned, T x, int mask) {
    return emu_exchange(x)[emu_lane() ^ mask];
}

template <typename T>
static inline T __shfl_up_sync(unsigned, T x, int n) {
    const T * all = emu_exchange(x);
    return emu_lane() >= n ? all[emu_lane() - n] : x;
}

static inline float __fdiv_rn(float a, float b) {
    return a/b;
}

static inline uint32_t __float_as_uint(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float __uint_as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
