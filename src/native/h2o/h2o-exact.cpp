#include "h2o-exact.h"

#include "h2o-view.h"

#include "ops/ggml-h2o.h"

#include "llama-cparams.h"
#include "llama-kv-cache.h"
#include "llama-model.h"

#include "ggml-backend.h"

#include <algorithm>

static bool h2o_is_cpu(ggml_backend_dev_t dev) {
    return !dev || ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_CPU;
}

bool h2o_has_exact(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn) {
    if (cparams.h2o.upstream_products) {
        return false;
    }
    const std::vector<uint32_t> layers = attn.get_layer_ids();

    return !cparams.offload_kqv ||
        std::any_of(layers.begin(), layers.end(), [&](uint32_t il) { return h2o_is_cpu(model.dev_layer(il)); });
}

// a tensor of the cache, or a view of one
static bool h2o_is_on_cpu(const ggml_tensor * t) {
    ggml_backend_buffer_t buf = t->view_src ? t->view_src->buffer : t->buffer;

    return buf && ggml_backend_buffer_is_host(buf) && h2o_is_cpu(ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buf)));
}

ggml_tensor * h2o_build_exact(
        ggml_context      * ctx,
        ggml_tensor       * q,
        ggml_tensor       * k,
        ggml_tensor       * v,
        ggml_tensor       * mask,
        const h2o_softmax & softmax) {
    if (q->ne[2] > GGML_H2O_DECODE_MAX || k->ne[3] != 1 || !h2o_is_on_cpu(k) || !h2o_is_on_cpu(v)) {
        return nullptr;
    }
    if (q->type != GGML_TYPE_F32) {
        q = ggml_cast(ctx, q, GGML_TYPE_F32);
    } else if (q->nb[0] != sizeof(float)) {
        q = ggml_cont(ctx, q);
    }

    ggml_tensor * cur = ggml_h2o_decode(ctx, q, ggml_permute(ctx, k, 0, 2, 1, 3), ggml_permute(ctx, v, 0, 2, 1, 3), mask,
            softmax.sinks, h2o_is_transposed(v), softmax.scale, softmax.cap);

    return ggml_reshape_2d(ctx, cur, cur->ne[0]*cur->ne[1], cur->ne[2]);
}
