#include "h2o-graph-input.h"

#include "h2o-attn.h"

#include <algorithm>
#include <cmath>
#include <vector>

static ggml_tensor * h2o_new_mask(const llm_graph_context & g, int64_t n_keys, int64_t n_group, const char * name) {
    ggml_tensor * mask = ggml_new_tensor_2d(g.ctx0, GGML_TYPE_F16, n_keys, n_group*n_keys);
    ggml_set_input(mask);
    ggml_set_name(mask, name);
    return mask;
}

llm_graph_input_attn_h2o::llm_graph_input_attn_h2o(
        const llm_graph_context          & g,
        const llama_kv_cache_h2o_context * mctx) :
    llm_graph_input_attn_kv(g.hparams, g.cparams, mctx),
    plan(mctx->get_plan()), cache(mctx->cache), n_kv(mctx->get_n_kv()), n_group(g.n_head/g.n_head_kv) {
    self_k_rot = mctx->build_input_k_rot(g.ctx0);
    self_v_rot = mctx->build_input_v_rot(g.ctx0);

    if (plan.stores_kv()) {
        self_k_idxs = mctx->build_input_k_idxs(g.ctx0, g.ubatch);
        self_v_idxs = mctx->build_input_v_idxs(g.ctx0, g.ubatch);
    }

    const bool has_mass = plan.trace == H2O_TRACE_MASS && plan.phase != H2O_PHASE_INTRA;

    if (cache->get_fused() && !has_mass) {
        return;
    }

    int64_t n_batched = 1;

    if (cache->get_fused()) {
        // the mass needs the ones and nothing else
    } else if (plan.phase != H2O_PHASE_INTER) {
        if (plan.n_graph_full() > 0) {
            mask_full = h2o_new_mask(g, plan.n_chunk, n_group, "h2o_mask_full");
            n_batched = std::min<int64_t>(plan.n_graph_full(), h2o_n_chunks_batched(plan.n_chunk, g.n_head));
        }
        if (plan.has_graph_tail()) {
            mask_tail = h2o_new_mask(g, plan.n_tail(), n_group, "h2o_mask_tail");
        }
    } else if (plan.n_mem(plan.ic_begin) == 0 && !has_mass) {
        return; // the cached intra attention passes through
    }

    ones = ggml_new_tensor_1d(g.ctx0, GGML_TYPE_F32, n_group*plan.n_chunk*g.n_head_kv*n_batched);
    ggml_set_input(ones);
    ggml_set_name(ones, "h2o_ones");
}

static void h2o_set_mask(ggml_tensor * mask, int64_t n_group) {
    const int64_t n_keys = mask->ne[0];

    const ggml_fp16_t hidden  = ggml_fp32_to_fp16(-INFINITY);
    const ggml_fp16_t visible = ggml_fp32_to_fp16(0.0f);

    std::vector<ggml_fp16_t> data(ggml_nelements(mask), hidden);

    for (int64_t row = 0; row < mask->ne[1]; ++row) {
        std::fill_n(data.begin() + row*n_keys, row/n_group + 1, visible);
    }
    ggml_backend_tensor_set(mask, data.data(), 0, ggml_nbytes(mask));
}

void llm_graph_input_attn_h2o::set_input(const llama_ubatch * ubatch) {
    if (self_k_idxs) {
        llm_graph_input_attn_kv::set_input(ubatch);
    } else {
        if (self_k_rot && self_k_rot->buffer) {
            mctx->set_input_k_rot(self_k_rot);
        }
        if (self_v_rot && self_v_rot->buffer) {
            mctx->set_input_v_rot(self_v_rot);
        }
    }

    for (ggml_tensor * mask : { mask_full, mask_tail }) {
        if (mask) {
            h2o_set_mask(mask, n_group);
        }
    }

    if (ones) {
        const std::vector<float> data(ggml_nelements(ones), 1.0f);
        ggml_backend_tensor_set(ones, data.data(), 0, ggml_nbytes(ones));
    }
}

bool llm_graph_input_attn_h2o::can_reuse(const llm_graph_params & params) {
    const auto * mctx_new = dynamic_cast<const llama_kv_cache_h2o_context *>(params.mctx);

    if (!mctx_new || mctx_new->cache != cache || !(mctx_new->get_plan() == plan) || mctx_new->get_n_kv() != n_kv) {
        return false;
    }

    mctx = mctx_new;

    return true;
}
