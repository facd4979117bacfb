#include "h2o-block.h"

#include <algorithm>

int64_t h2o_n_batched(int64_t n_logits) {
    const int64_t max_bytes = 256ll*1024*1024;

    return std::max<int64_t>(1, max_bytes/(n_logits*(int64_t) sizeof(float)));
}

ggml_tensor * h2o_build_sinks(ggml_context * ctx, ggml_tensor * sinks, ggml_tensor * & o, ggml_tensor * & lse) {
    ggml_tensor * diff  = ggml_sub(ctx, lse, sinks);
    ggml_tensor * share = ggml_sigmoid(ctx, diff);

    o   = ggml_mul(ctx, o, share);
    lse = ggml_add(ctx, lse, ggml_softplus(ctx, ggml_neg(ctx, diff)));

    return share;
}

void h2o_expand(const h2o_layer & l, std::initializer_list<ggml_tensor *> tensors) {
    for (ggml_tensor * t : tensors) {
        if (t) {
            ggml_build_forward_expand(l.gf, t);
        }
    }
}
