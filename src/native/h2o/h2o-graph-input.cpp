#include "h2o-graph-input.h"

#include "h2o-block.h"
#include "h2o-cache.h"

#include "llama-kv-cache.h"

#include <algorithm>
#include <cmath>
#include <vector>

static ggml_tensor * h2o_new_mask(const llm_graph_context & g, int64_t n_keys, int64_t n_group, const char * name) {
    ggml_tensor * mask = ggml_new_tensor_2d(g.ctx0, GGML_TYPE_F16, n_keys, n_group*n_keys);
    ggml_set_input(mask);
    ggml_set_name(mask, name);
    return mask;
}

llm_graph_input_attn_h2o::llm_graph_input_attn_h2o(const llm_graph_context & g, const h2o_sparse_context & sparse) :
    llm_graph_input_attn_kv(g.hparams, g.cparams, &sparse.get_attn()),
    plan(sparse.get_plan()), cache(sparse.get_cache()), n_kv(mctx->get_n_kv()), n_group(g.n_head/g.n_head_kv) {
    self_k_rot = mctx->build_input_k_rot(g.ctx0);
    self_v_rot = mctx->build_input_v_rot(g.ctx0);

    if (plan.stores_kv()) {
        self_k_idxs = mctx->build_input_k_idxs(g.ctx0, g.ubatch);
        self_v_idxs = mctx->build_input_v_idxs(g.ctx0, g.ubatch);
    }

    const bool is_composed = !cache.get_fused();
    const bool has_intra   = plan.phase != H2O_PHASE_INTER;
    const bool has_inter   = plan.phase != H2O_PHASE_INTRA;

    int64_t n_batched = 1;

    if (is_composed && has_intra) {
        if (plan.n_graph_full() > 0) {
            mask_full = h2o_new_mask(g, plan.n_chunk, n_group, "h2o_mask_full");
            n_batched = std::min<int64_t>(plan.n_graph_full(), h2o_n_chunks_batched(plan.n_chunk, g.n_head));
        }
        if (plan.has_graph_tail()) {
            mask_tail = h2o_new_mask(g, plan.n_tail(), n_group, "h2o_mask_tail");
        }
    }

    // without intra and without a memory the cached intra attention passes through
    const bool has_votes =
        is_composed && cache.get_policy().wants_votes() && (has_intra || plan.n_mem(plan.ic_begin) > 0);
    const bool has_mass = plan.trace == H2O_TRACE_MASS && has_inter;

    if (has_votes || has_mass) {
        ones = ggml_new_tensor_1d(g.ctx0, GGML_TYPE_F32, n_group*plan.n_chunk*g.n_head_kv*n_batched);
        ggml_set_input(ones);
        ggml_set_name(ones, "h2o_ones");
    }
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
    const auto * sparse = dynamic_cast<const h2o_sparse_context *>(params.mctx);

    if (!sparse || &sparse->get_cache() != &cache || !(sparse->get_plan() == plan) ||
        sparse->get_attn().get_n_kv() != n_kv) {
        return false;
    }

    mctx = &sparse->get_attn();

    return true;
}
