#include "h2o-coverage.h"

#include "h2o-device.h"

#include "llama-arch.h"
#include "llama-cparams.h"
#include "llama-model.h"

// the tests cover exactly these ("mistral" models carry the architecture name of llama)
static bool h2o_is_covered_arch(llm_arch arch) {
    switch (arch) {
        case LLM_ARCH_LLAMA:
        case LLM_ARCH_QWEN2:
        case LLM_ARCH_QWEN3:
        case LLM_ARCH_QWEN3MOE:
        case LLM_ARCH_PHI3:
            return true;
        default:
            return false;
    }
}

static bool h2o_is_plain_memory(llm_arch arch, const llama_hparams & hparams) {
    return
        !llm_arch_is_recurrent(arch) &&
        !llm_arch_is_hybrid(arch) &&
        !hparams.is_mla() &&
        !hparams.is_swa_any() &&
        hparams.swa_type      == LLAMA_SWA_TYPE_NONE &&
        hparams.n_layer_nextn == 0 &&
        hparams.router_layer  <  0;
}

// one head count and size for all layers: the group is folded into the rows of one mask
static bool h2o_is_plain_attention(const llama_hparams & hparams) {
    if (hparams.use_alibi || hparams.attn_soft_cap || hparams.f_max_alibi_bias > 0.0f) {
        return false;
    }
    for (uint32_t il = 0; il < hparams.n_layer(); ++il) {
        if (hparams.n_head(il)        != hparams.n_head(0)        ||
            hparams.n_head_kv(il)     != hparams.n_head_kv(0)     ||
            hparams.n_embd_head_k(il) != hparams.n_embd_head_k(0) ||
            hparams.n_embd_head_v(il) != hparams.n_embd_head_v(0) ||
            hparams.n_head_kv(il) == 0 || hparams.n_head(il) % hparams.n_head_kv(il) != 0) {
            return false;
        }
    }
    return true;
}

h2o_reason h2o_coverage(const llama_model & model, const llama_cparams & cparams) {
    const llama_hparams & hparams = model.hparams;

    if (cparams.h2o.n_local + cparams.h2o.n_heavy == 0) {
        return H2O_REASON_OFF;
    }
    if (!h2o_is_plain_memory(model.arch, hparams)) {
        return H2O_REASON_UNSUPPORTED_MEMORY;
    }
    if (!h2o_is_plain_attention(hparams)) {
        return H2O_REASON_UNSUPPORTED_ATTENTION;
    }
    if (!h2o_is_covered_arch(model.arch)) {
        return H2O_REASON_UNSUPPORTED_ARCHITECTURE;
    }
    if (cparams.ctx_type != LLAMA_CONTEXT_TYPE_DEFAULT || cparams.ctx_other || cparams.embeddings ||
        cparams.pooling_type != LLAMA_POOLING_TYPE_NONE ||
        (model.split_mode() != LLAMA_SPLIT_MODE_NONE && model.split_mode() != LLAMA_SPLIT_MODE_LAYER)) {
        return H2O_REASON_UNSUPPORTED_CONTEXT;
    }
    if (!h2o_has_honest_devices(model)) {
        return H2O_REASON_UNSUPPORTED_DEVICE;
    }
    if (cparams.h2o.policy == H2O_POLICY_QUERY && cparams.h2o.schedule == H2O_SCHEDULE_TWO_PASS) {
        return H2O_REASON_UNSUPPORTED_SCHEDULE; // its phase 1 has no Local: the chunk's own queries would ask without it
    }
    if (cparams.n_seq_max > 1) {
        return H2O_REASON_MULTI_SEQUENCE;
    }
    if (cparams.n_batch <= cparams.n_ubatch) {
        return H2O_REASON_BATCH_TOO_SMALL;
    }
    return H2O_REASON_NONE;
}
