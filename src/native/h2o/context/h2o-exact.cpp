#include "h2o-exact.h"

#include "h2o-cache.h"
#include "h2o-device.h"
#include "h2o-view.h"

#include "ops/ggml-h2o.h"

#include "ggml-backend.h"

#include <array>

llm_graph_input_h2o_exact::llm_graph_input_h2o_exact(ggml_context * ctx, const h2o_cache & cache) :
    cache(cache), n_decode(cache.get_call().n_decode), stream(cache.signs_stream()) {
    if (n_decode > 0) {
        range = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 2);
        ggml_set_input(range);
        ggml_set_name(range, "h2o_signs_range");
    }
}

void llm_graph_input_h2o_exact::set_input(const llama_ubatch * ubatch) {
    GGML_UNUSED(ubatch);

    if (range && range->buffer) {
        const std::array<int32_t, 2> pages = cache.signs_range();
        ggml_backend_tensor_set(range, pages.data(), 0, sizeof(pages));
    }
}

bool llm_graph_input_h2o_exact::can_reuse(const llm_graph_params & params) {
    GGML_UNUSED(params);

    return cache.get_call().n_decode == n_decode && (n_decode == 0 || cache.signs_stream() == stream);
}

ggml_tensor * llm_graph_input_h2o_exact::build_signs(ggml_context * ctx, ggml_tensor * k, int32_t il) const {
    if (n_decode == 0) {
        return nullptr;
    }
    if (ggml_tensor * own = cache.engine.store.signs(il, stream)) {
        signs[k->view_src] = ggml_h2o_signs(ctx, h2o_view_cells(ctx, k), own, range);
    }
    const auto it = signs.find(k->view_src);

    return it == signs.end() ? nullptr : it->second;
}

// a tensor of the cache, or a view of one
static bool h2o_is_on_cpu(const ggml_tensor * t) {
    ggml_backend_buffer_t buf = t->view_src ? t->view_src->buffer : t->buffer;

    return buf && ggml_backend_buffer_is_host(buf) && h2o_is_cpu(ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buf)));
}

ggml_tensor * h2o_build_exact(
        ggml_context                    * ctx,
        const llm_graph_input_h2o_exact & inp,
        ggml_tensor                     * q,
        ggml_tensor                     * k,
        ggml_tensor                     * v,
        ggml_tensor                     * mask,
        const h2o_softmax               & softmax,
        int32_t                           il) {
    if (!h2o_is_on_cpu(k) || !h2o_is_on_cpu(v)) {
        return nullptr;
    }
    if (q->type != GGML_TYPE_F32) {
        q = ggml_cast(ctx, q, GGML_TYPE_F32);
    } else if (q->nb[0] != sizeof(float)) {
        q = ggml_cont(ctx, q);
    }
    const int64_t n_streams = k->ne[3];
    const int64_t n_tokens  = q->ne[2]/n_streams; // of each

    q = ggml_view_4d(ctx, q, q->ne[0], q->ne[1], n_tokens, n_streams, q->nb[1], q->nb[2], n_tokens*q->nb[2], 0);

    ggml_tensor * cur = ggml_h2o_decode(ctx, q, ggml_permute(ctx, k, 0, 2, 1, 3), ggml_permute(ctx, v, 0, 2, 1, 3), mask,
            softmax.sinks, h2o_is_transposed(v), softmax.scale, softmax.cap);

    if (ggml_tensor * signs = inp.build_signs(ctx, k, il)) {
        ggml_h2o_decode_add_signs(cur, signs, inp.range, inp.n_decode);
    }
    return ggml_reshape_2d(ctx, cur, cur->ne[0]*cur->ne[1], n_tokens*n_streams);
}
