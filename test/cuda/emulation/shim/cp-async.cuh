// In the place of ggml-cuda's cp-async.cuh.

#pragma once

#include "common.cuh"

static inline void * ggml_cuda_cvta_generic_to_shared(void * p) {
    return p;
}

template <int preload>
static inline void cp_async_cg_16(void * dst, const void * src) {
    emu_copy_async(dst, src);
}

static inline void cp_async_wait_all() {
    emu_copy_wait();
}
