#include "h2o-cuda.cuh"

#include "h2o-attn.cuh"

#include "../ggml-h2o.h"

#include <atomic>

void ggml_cuda_h2o(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    switch (ggml_h2o_get_op(dst)) {
        case GGML_H2O_OP_SELECT: ggml_cuda_h2o_select(ctx, dst); break;
        case GGML_H2O_OP_LOOKUP: ggml_cuda_h2o_lookup(ctx, dst); break;
        case GGML_H2O_OP_ATTN:   ggml_cuda_h2o_attn  (ctx, dst); break;
        default: GGML_ABORT("unknown sub-op of GGML_OP_H2O");
    }
}

static bool h2o_is_supported(int device, const ggml_tensor * dst) {
    switch (ggml_h2o_get_op(dst)) {
        case GGML_H2O_OP_SELECT: return ggml_cuda_h2o_select_supported(device, dst);
        case GGML_H2O_OP_LOOKUP: return true;
        case GGML_H2O_OP_ATTN:   return ggml_cuda_h2o_attn_supported(device, dst);
        default:                 return false;
    }
}

bool ggml_cuda_h2o_supported(int device, const ggml_tensor * dst) {
    if (h2o_is_supported(device, dst)) {
        return true;
    }

    static std::atomic<bool> is_said[GGML_H2O_OP_COUNT + 1] = {};

    const int op = std::min<int>(ggml_h2o_get_op(dst), GGML_H2O_OP_COUNT);
    if (!is_said[op].exchange(true)) {
        const ggml_tensor * k = dst->src[1];

        GGML_LOG_WARN("%s: no CUDA kernel for GGML_OP_H2O, sub-op %d, src[1] %s [%d, %d]; other backends take it\n",
                __func__, op, ggml_type_name(k->type), (int) k->ne[0], (int) k->ne[1]);
    }
    return false;
}
