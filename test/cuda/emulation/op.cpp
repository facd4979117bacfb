#include "op.h"

#include "fail.h"

#include "h2o-cuda.cuh"

void emu_compute(ggml_tensor * dst) {
    EMU_CHECK(emu_supports(dst), "an op without a kernel");

    ggml_backend_cuda_context ctx;
    ggml_cuda_h2o(ctx, dst);
}

bool emu_supports(const ggml_tensor * dst) {
    return ggml_cuda_h2o_supported(0, dst);
}

ggml_context_ptr emu_new_context() {
    return ggml_context_ptr(ggml_init({ 16*ggml_tensor_overhead(), nullptr, true }));
}

ggml_tensor * emu_new_tensor(
        ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3, const void * data) {
    ggml_tensor * t = ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, ne3);
    t->data = (void *) data;
    return t;
}
