#include "h2o-linear.h"

#include "h2o-linear-amx.h"
#include "h2o-linear-int16.h"
#include "h2o-linear-int8.h"

#include "../../ggml-h2o.h"

#include "ggml-cpu-impl.h"

namespace {

struct h2o_linear_path {
    bool   (*supported)(const ggml_tensor * dst);
    void   (*forward)  (const ggml_compute_params * params, ggml_tensor * dst);
    size_t (*work_size)(const ggml_tensor * dst, int n_tasks);
};

}

// the first that supports a product takes it
static const h2o_linear_path H2O_LINEAR_PATHS[] = {
    { h2o_linear_amx_supported,   h2o_linear_amx_forward,   h2o_linear_amx_work_size   },
    { h2o_linear_int16_supported, h2o_linear_int16_forward, h2o_linear_int16_work_size },
    { h2o_linear_int8_supported,  h2o_linear_int8_forward,  h2o_linear_int8_work_size  },
};

// null: llama.cpp's own
static const h2o_linear_path * h2o_linear_path_of(const ggml_tensor * dst) {
    if (!ggml_h2o_is_linear(dst)) {
        return nullptr;
    }
    const ggml_tensor * w = dst->src[0];
    const ggml_tensor * x = dst->src[1];

    const bool has_experts = dst->op == GGML_OP_MUL_MAT_ID;

    if ((w->ne[2] != 1 && !has_experts) || w->ne[3] != 1 || x->type != GGML_TYPE_F32 || !ggml_is_contiguous(x) || !ggml_is_contiguous(dst)) {
        return nullptr;
    }
    for (const h2o_linear_path & path : H2O_LINEAR_PATHS) {
        if (path.supported(dst)) {
            return &path;
        }
    }
    return nullptr;
}

bool h2o_linear_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_linear_path * path = params->use_ref ? nullptr : h2o_linear_path_of(dst);
    if (path) {
        path->forward(params, dst);
    }
    return path;
}

size_t h2o_linear_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_linear_path * path = h2o_linear_path_of(dst);
    return path ? path->work_size(dst, n_tasks) : 0;
}
