#include "h2o-graph-input.h"

#include "h2o-engine.h"

#include "llama-memory.h"

#include <algorithm>
#include <cmath>
#include <vector>

// column sums of the largest layer
static int64_t h2o_n_ones(const llm_graph_context & g, const h2o_plan & plan) {
    int64_t res = 0;

    for (uint32_t il = 0; il < g.hparams.n_layer(); ++il) {
        const int64_t n_head = g.hparams.n_head(il);
        if (n_head == 0) {
            continue; // a layer without attention
        }
        const int64_t n_batched =
            std::clamp<int64_t>(plan.n_graph_full(), 1, h2o_composed_block().n_chunks_batched(plan.n_chunk, n_head));

        res = std::max(res, n_head*plan.n_chunk*n_batched);
    }
    return res;
}

llm_graph_input_h2o::llm_graph_input_h2o(const llm_graph_context & g, const h2o_sparse_graph & sparse) :
    plan(*sparse.get_plan()), engine(sparse.get_engine()), n_kv(sparse.get_n_kv()) {
    const bool has_intra = plan.phase != H2O_PHASE_INTER;
    const bool has_inter = plan.phase != H2O_PHASE_INTRA;

    // without intra and without a memory the cached intra attention passes through
    const bool has_votes =
        engine.block.wants_mask_and_ones && engine.policy->traits.casts_votes && (has_intra || plan.n_mem(plan.ic_begin) > 0);
    const bool has_mass = plan.trace == H2O_TRACE_MASS && has_inter;

    if (has_votes || has_mass) {
        ones = ggml_new_tensor_1d(g.ctx0, GGML_TYPE_F32, h2o_n_ones(g, plan));
        ggml_set_input(ones);
        ggml_set_name(ones, "h2o_ones");
    }
}

int32_t llm_graph_input_h2o::find_owner(const ggml_tensor * k, int32_t il) const {
    if (engine.store.has_layer(il)) {
        owners[k->view_src] = il;
        return il;
    }
    const auto it = owners.find(k->view_src);

    return it == owners.end() ? -1 : it->second;
}

ggml_tensor * llm_graph_input_h2o::get_mask(ggml_context * ctx, int64_t n_keys, int64_t n_group) const {
    ggml_tensor * & mask = masks[{ n_keys, n_group }];

    if (!mask) {
        mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, n_keys, n_group*n_keys);
        ggml_set_input(mask);
        ggml_set_name(mask, "h2o_mask");
    }
    return mask;
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

void llm_graph_input_h2o::set_input(const llama_ubatch * ubatch) {
    GGML_UNUSED(ubatch);

    for (const auto & [size, mask] : masks) {
        h2o_set_mask(mask, size.second);
    }

    if (ones && ones->buffer) {
        const std::vector<float> data(ggml_nelements(ones), 1.0f);
        ggml_backend_tensor_set(ones, data.data(), 0, ggml_nbytes(ones));
    }
}

bool llm_graph_input_h2o::can_reuse(const llm_graph_params & params) {
    const auto * sparse = dynamic_cast<const h2o_sparse_graph *>(params.mctx);

    return sparse && sparse->get_plan() && *sparse->get_plan() == plan &&
        &sparse->get_engine() == &engine && sparse->get_n_kv() == n_kv;
}
