#include "h2o.h"

#include "llama-arch.h"
#include "llama-model.h"

#include <algorithm>
#include <cmath>

// of K and V of one position in one layer
static double h2o_kv_size(const llama_hparams & hparams, int32_t il, const llama_context_params & params) {
    const auto size = [](uint32_t n, ggml_type type) { return (double) n*ggml_type_size(type)/ggml_blck_size(type); };

    // transposed, V has as many rows in each layer
    const bool     is_padded = params.flash_attn_type == LLAMA_FLASH_ATTN_TYPE_DISABLED;
    const uint32_t n_embd_v  = is_padded ? hparams.n_embd_v_gqa_max() : hparams.n_embd_v_gqa(il);

    return size(hparams.n_embd_k_gqa(il), params.type_k) + (hparams.is_mla() ? 0.0 : size(n_embd_v, params.type_v));
}

// the filters of llama_model::create_memory
static bool h2o_is_recurrent(const llama_model & model, int32_t il) {
    switch (model.arch) {
        case LLM_ARCH_FALCON_H1:      return true;
        case LLM_ARCH_NEMOTRON_H:
        case LLM_ARCH_NEMOTRON_H_MOE: return model.hparams.is_recr(il) && model.hparams.n_ff(il) == 0;
        default:                      return llm_arch_is_recurrent(model.arch) || model.hparams.is_recr(il);
    }
}

static bool h2o_has_kv(const llama_model & model, int32_t il) {
    switch (model.arch) {
        case LLM_ARCH_FALCON_H1:      return true;
        case LLM_ARCH_NEMOTRON_H:
        case LLM_ARCH_NEMOTRON_H_MOE: return !model.hparams.is_recr(il) && model.hparams.n_ff(il) == 0;
        default:                      return !h2o_is_recurrent(model, il) && model.hparams.has_kv(il);
    }
}

double h2o_get_kv_size(const llama_model * model, const llama_context_params * params) {
    const llama_hparams & hparams = model->hparams;

    const double n_seq    = std::max(1u, params->n_seq_max);
    const double n_stream = params->kv_unified ? 1.0 : n_seq;
    const double n_ctx    = params->n_ctx > 0 ? params->n_ctx : hparams.n_ctx_train;
    const double n_ubatch = std::min(params->n_batch, params->n_ubatch);

    const auto pad = [](double n) { return std::ceil(n/256.0)*256.0; };

    // as llama_context and llama_kv_cache_iswa have it, per stream
    const double n_cells        = pad(pad(n_ctx)/n_stream);
    const double n_cells_window = pad(std::min(n_cells, hparams.n_swa*(n_seq/n_stream) + n_ubatch));

    double res = 0.0;
    for (int32_t il = 0; il < (int32_t) hparams.n_layer(); ++il) {
        if (h2o_has_kv(*model, il)) {
            const bool is_window = hparams.swa_type != LLAMA_SWA_TYPE_NONE && hparams.is_swa(il) && !params->swa_full;
            res += (is_window ? n_cells_window : n_cells)*n_stream*h2o_kv_size(hparams, il, *params);
        }
        if (h2o_is_recurrent(*model, il)) {
            res += n_seq*((double) hparams.n_embd_r() + hparams.n_embd_s())*sizeof(float);
        }
    }
    return res;
}
