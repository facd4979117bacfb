#include "h2o-linear.h"

#include "h2o-linear-amx.h"

#include "../../ggml-h2o.h"

#include "ggml-cpu-impl.h"

// from here on, unpacking weights costs less than it saves
static constexpr int64_t H2O_LINEAR_MIN_ROWS = 64;

static bool h2o_linear_supported(const ggml_tensor * dst) {
    if (!ggml_h2o_is_linear(dst)) {
        return false;
    }
    const ggml_tensor * w = dst->src[0];
    const ggml_tensor * x = dst->src[1];

    return ggml_nrows(x) >= H2O_LINEAR_MIN_ROWS && w->type != GGML_TYPE_F32 && w->ne[2] == 1 && w->ne[3] == 1 &&
        x->type == GGML_TYPE_F32 && ggml_is_contiguous(x) && ggml_is_contiguous(dst) && h2o_linear_amx_supported(dst);
}

bool h2o_linear_forward(const ggml_compute_params * params, ggml_tensor * dst) {
    if (params->use_ref || !h2o_linear_supported(dst)) {
        return false;
    }
    h2o_linear_amx_forward(params, dst);
    return true;
}

size_t h2o_linear_work_size(const ggml_tensor * dst, int n_tasks) {
    return h2o_linear_supported(dst) ? h2o_linear_amx_work_size(dst, n_tasks) : 0;
}
