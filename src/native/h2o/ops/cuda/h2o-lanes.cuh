// Of n neighbouring lanes of a warp, n a power of two; each of them gets the result, and NaN is no maximum.

#pragma once

#include "common.cuh"

template <int n>
static __device__ __forceinline__ float h2o_lanes_max(float x) {
#pragma unroll
    for (int i = 1; i < n; i *= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, i));
    }
    return x;
}

template <int n>
static __device__ __forceinline__ float h2o_lanes_sum(float x) {
#pragma unroll
    for (int i = 1; i < n; i *= 2) {
        x += __shfl_xor_sync(0xffffffff, x, i);
    }
    return x;
}
