// GGML_OP_H2O on CUDA; called from ggml-cuda.cu. Every sub-op is a fixed sequence of launches on the context's stream,
// its shape known to the host, so that a graph of them can be captured.
//
// HIP and MUSA compile ggml-cuda.cu too, but not the kernels: there the op is not supported.

#pragma once

#if !defined(GGML_USE_HIP) && !defined(GGML_USE_MUSA)

#include "common.cuh"

void ggml_cuda_h2o(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

// whether the device has a kernel for the sub-op of dst, its shapes and types
bool ggml_cuda_h2o_supported(int device, const ggml_tensor * dst);

// SELECT and LOOKUP; without room for the candidates in shared memory, a line says once that selection leaves the
// device
bool ggml_cuda_h2o_select_supported(int device, const ggml_tensor * dst);
void ggml_cuda_h2o_select(ggml_backend_cuda_context & ctx, ggml_tensor * dst);
void ggml_cuda_h2o_lookup(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

bool ggml_cuda_h2o_pages_supported(const ggml_tensor * dst);
void ggml_cuda_h2o_pages(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

bool ggml_cuda_h2o_order_supported(const ggml_tensor * dst);
void ggml_cuda_h2o_order(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

bool ggml_cuda_h2o_query_supported(const ggml_tensor * dst);
void ggml_cuda_h2o_query(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

bool ggml_cuda_h2o_estimate_supported(const ggml_tensor * dst);
void ggml_cuda_h2o_estimate(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

#else

static inline void ggml_cuda_h2o(ggml_backend_cuda_context &, ggml_tensor *) {
    GGML_ABORT("GGML_OP_H2O has no kernels for this device");
}

static inline bool ggml_cuda_h2o_supported(int, const ggml_tensor *) {
    return false;
}

#endif
