// In the place of ggml-cuda's common.cuh: the language of kernels for a host compiler, and the little of the header that the
// kernels use.

#pragma once

#include <cuda_fp16.h>
#include <vector_functions.h>
#include <vector_types.h>

#include "ggml.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __launch_bounds__
#undef __align__
#undef __shared__

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

// static where it stands in a function, and still right after extern; all threads of a block are fibers of one thread
#define __shared__ thread_local

#include "../intrinsics.h"

#define WARP_SIZE 32
#define AMPERE_MMA_AVAILABLE

#define NO_DEVICE_CODE abort()

using std::max;
using std::min;

static inline int warp_prefix_inclusive_sum(int x) {
    for (int n = 1; n < WARP_SIZE; n *= 2) {
        const int y = __shfl_up_sync(0xffffffff, x, n);
        if (emu_lane() >= n) {
            x += y;
        }
    }
    return x;
}
