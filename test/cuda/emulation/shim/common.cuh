// In the place of ggml-cuda's common.cuh: the language of kernels for a host compiler, and the little of the header
// that the kernels and their launchers use.

#pragma once

#include <cuda_fp16.h>
#include <vector_functions.h>
#include <vector_types.h>

#include "ggml.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>

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

#include "../device-memory.h"
#include "../fail.h"
#include "../intrinsics.h"
#include "../launch.h"

#define WARP_SIZE 32
#define AMPERE_MMA_AVAILABLE

#define NO_DEVICE_CODE abort()

#define GGML_LOG_WARN(...) fprintf(stderr, __VA_ARGS__)

#define CUDA_SET_SHARED_MEMORY_LIMIT(kernel, n) emu_allow_dynamic((const void *) &(kernel), n)

using std::max;
using std::min;

static inline int warp_prefix_inclusive_sum(int x) {
    for (int n = 1; n < WARP_SIZE; n *= 2) {
        const int y = __shfl_up_sync(0xffffffff, x, n);
        if ((int) threadIdx.x%WARP_SIZE >= n) {
            x += y;
        }
    }
    return x;
}

static inline bool ampere_mma_available(int cc) {
    return cc >= 800;
}

struct ggml_cuda_device_info {
    const emu_device * devices;
};

static inline ggml_cuda_device_info ggml_cuda_info() {
    return { &emu_current_device };
}

struct ggml_cuda_pool {};

struct ggml_backend_cuda_context {
    int device = 0;

    ggml_cuda_pool the_pool;

    ggml_cuda_pool & pool()   { return the_pool; }
    cudaStream_t     stream() { return nullptr; }
};

template <typename T>
class ggml_cuda_pool_alloc {
public:
    explicit ggml_cuda_pool_alloc(ggml_cuda_pool &) {}

    ggml_cuda_pool_alloc(ggml_cuda_pool &, size_t n) { alloc(n); }

    T * alloc(size_t n) {
        buffer.reset(new emu_buffer(n*sizeof(T)));
        return get();
    }

    T * get() { return buffer->as<T>(); }

private:
    std::unique_ptr<emu_buffer> buffer;
};
