#include "h2o-coverage.h"

#include "h2o-device.h"

#include "llama-arch.h"
#include "llama-cparams.h"
#include "llama-model.h"

#include <algorithm>

// what the graph does not show; everything else is for the probe to find
static bool h2o_is_denied(const llama_model & model) {
    return
        model.arch == LLM_ARCH_GROK ||        // build_attn_mha caps its logits, by the name
        model.hparams.router_layer >= 0 ||    // a layer finds the token that named an adapter: it has to see all of them
        llama_model_has_encoder(&model);      // decoders that read something else than their own tokens
}

static bool h2o_is_plain_attention(const llama_hparams & hparams) {
    const bool is_capped_by_nothing = hparams.attn_soft_cap && !(hparams.f_attn_logit_softcapping > 0.0f);

    return !hparams.use_alibi && !is_capped_by_nothing && hparams.f_max_alibi_bias <= 0.0f && !hparams.is_mla();
}

h2o_reason h2o_coverage(const llama_model & model, const llama_cparams & cparams) {
    const llama_hparams & hparams = model.hparams;

    if (cparams.h2o.n_local + cparams.h2o.n_heavy == 0) {
        return H2O_REASON_OFF;
    }
    if (!h2o_is_plain_attention(hparams)) {
        return H2O_REASON_UNSUPPORTED_ATTENTION;
    }
    if (h2o_is_denied(model)) {
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
    if (cparams.h2o.schedule == H2O_SCHEDULE_TWO_PASS) {
        if (!h2o_get_policy_traits(cparams.h2o.policy)->runs_two_pass) {
            return H2O_REASON_UNSUPPORTED_SCHEDULE;
        }
        if (!h2o_is_plain(model)) {
            return H2O_REASON_UNSUPPORTED_SCHEDULE; // windows and recurrent states see every token once
        }
    }
    if (std::min(cparams.n_batch, cparams.n_ctx_seq) <= cparams.n_ubatch) {
        return H2O_REASON_BATCH_TOO_SMALL;
    }
    return H2O_REASON_NONE;
}
