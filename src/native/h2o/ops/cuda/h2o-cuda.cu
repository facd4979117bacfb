#include "h2o-cuda.cuh"

#include "h2o-attn.cuh"

#include "../ggml-h2o.h"

void ggml_cuda_h2o(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    switch (ggml_h2o_get_op(dst)) {
        case GGML_H2O_OP_SELECT:   ggml_cuda_h2o_select  (ctx, dst); break;
        case GGML_H2O_OP_LOOKUP:   ggml_cuda_h2o_lookup  (ctx, dst); break;
        case GGML_H2O_OP_ATTN:     ggml_cuda_h2o_attn    (ctx, dst); break;
        case GGML_H2O_OP_PAGES:    ggml_cuda_h2o_pages   (ctx, dst); break;
        case GGML_H2O_OP_ORDER:    ggml_cuda_h2o_order   (ctx, dst); break;
        case GGML_H2O_OP_QUERY:    ggml_cuda_h2o_query   (ctx, dst); break;
        case GGML_H2O_OP_ESTIMATE: ggml_cuda_h2o_estimate(ctx, dst); break;
        default: GGML_ABORT("unknown sub-op of GGML_OP_H2O");
    }
}

bool ggml_cuda_h2o_supported(int device, const ggml_tensor * dst) {
    switch (ggml_h2o_get_op(dst)) {
        case GGML_H2O_OP_SELECT:   return ggml_cuda_h2o_select_supported(device, dst);
        case GGML_H2O_OP_LOOKUP:   return true;
        case GGML_H2O_OP_ATTN:     return ggml_cuda_h2o_attn_supported(device, dst);
        case GGML_H2O_OP_PAGES:    return ggml_cuda_h2o_pages_supported(dst);
        case GGML_H2O_OP_ORDER:    return ggml_cuda_h2o_order_supported(dst);
        case GGML_H2O_OP_QUERY:    return ggml_cuda_h2o_query_supported(dst);
        case GGML_H2O_OP_ESTIMATE: return ggml_cuda_h2o_estimate_supported(dst);
        default:                   return false;
    }
}
