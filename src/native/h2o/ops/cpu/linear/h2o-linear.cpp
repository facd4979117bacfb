#include "h2o-linear.h"

#include "h2o-linear-amx.h"
#include "h2o-linear-f32.h"

#include "../../ggml-h2o.h"

#include "ggml-cpu-impl.h"

static bool h2o_linear_supported(const ggml_tensor * dst) {
    if (!ggml_h2o_is_linear(dst)) {
        return false;
    }
    const ggml_tensor * w = dst->src[0];
    const ggml_tensor * x = dst->src[1];

    return w->ne[2] == 1 && w->ne[3] == 1 && x->type == GGML_TYPE_F32 && ggml_is_contiguous(x) && ggml_is_contiguous(dst) &&
        (h2o_linear_amx_supported(dst) || h2o_linear_f32_supported(dst));
}

bool h2o_linear_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    if (params->use_ref || !h2o_linear_supported(dst)) {
        return false;
    }
    if (h2o_linear_amx_supported(dst)) {
        h2o_linear_amx_forward(params, dst);
    } else {
        h2o_linear_f32_forward(params, dst);
    }
    return true;
}

size_t h2o_linear_work_size(const ggml_tensor * dst, int n_tasks) {
    if (!h2o_linear_supported(dst)) {
        return 0;
    }
    return h2o_linear_amx_supported(dst) ? h2o_linear_amx_work_size(dst, n_tasks) : h2o_linear_f32_work_size(dst, n_tasks);
}
