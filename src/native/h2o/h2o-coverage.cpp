#include "h2o-coverage.h"

#include "h2o-graph-input.h"

#include "llama-arch.h"
#include "llama-cparams.h"
#include "llama-impl.h"
#include "llama-model.h"

#include "ggml-cpp.h"

#include <cstdlib>
#include <cstring>

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
        if (hparams.n_head(il)        != hparams.n_head(0)        || hparams.n_head_kv(il)     != hparams.n_head_kv(0) ||
            hparams.n_embd_head_k(il) != hparams.n_embd_head_k(0) || hparams.n_embd_head_v(il) != hparams.n_embd_head_v(0) ||
            hparams.n_head_kv(il) == 0 || hparams.n_head(il) % hparams.n_head_kv(il) != 0) {
            return false;
        }
    }
    return true;
}

// RPC answers yes to every op without asking the other side
static bool h2o_has_honest_devices(const llama_model & model) {
    for (const auto & dev : model.devices) {
        if (strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(dev.dev)), "RPC") == 0) {
            return false;
        }
    }
    return true;
}

h2o_reason h2o_coverage(const llama_model & model, const llama_cparams & cparams) {
    const llama_hparams & hparams = model.hparams;

    if (cparams.h2o_local + cparams.h2o_heavy == 0) {
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
    if (cparams.n_seq_max > 1) {
        return H2O_REASON_MULTI_SEQUENCE;
    }
    if (cparams.n_batch <= cparams.n_ubatch) {
        return H2O_REASON_BATCH_TOO_SMALL;
    }
    return H2O_REASON_NONE;
}

h2o_reason h2o_coverage_of_graph(const llama_model & model, const llm_graph_result & res) {
    int32_t n_layers = 0;

    for (const auto & input : res.inputs) {
        if (const auto * h2o = dynamic_cast<const llm_graph_input_attn_h2o *>(input.get())) {
            n_layers += h2o->n_layers_built;
        } else if (dynamic_cast<const llm_graph_input_attn_kv *>(input.get()) || dynamic_cast<const llm_graph_input_attn_no_cache *>(input.get())) {
            return H2O_REASON_UNSUPPORTED_ATTENTION;
        }
    }
    return n_layers == (int32_t) model.hparams.n_layer() ? H2O_REASON_NONE : H2O_REASON_UNSUPPORTED_ATTENTION;
}

// the attention of one head of a layer, as the graph will ask for it
static bool h2o_device_runs_attn(
        ggml_backend_dev_t dev, int64_t d_k, int64_t d_v, ggml_type type_k, ggml_type type_v, bool v_trans) {
    if (d_k % ggml_blck_size(type_k) != 0 || d_v % ggml_blck_size(type_v) != 0) {
        return false;
    }
    ggml_context_ptr ctx(ggml_init({ 8*ggml_tensor_overhead(), nullptr, true }));

    const int64_t n = 64; // queries and keys

    ggml_tensor * q = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, d_k, 1, n);
    ggml_tensor * k = ggml_new_tensor_3d(ctx.get(), type_k, d_k, n, 1);
    ggml_tensor * v = v_trans ? ggml_new_tensor_3d(ctx.get(), type_v, n, d_v, 1) : ggml_new_tensor_3d(ctx.get(), type_v, d_v, n, 1);

    return ggml_backend_dev_supports_op(dev, ggml_h2o_attn(ctx.get(), q, k, v, nullptr, nullptr, nullptr, v_trans, true, 1.0f));
}

bool h2o_has_fused_attn(const llama_model & model, const llama_cparams & cparams, ggml_type type_k, ggml_type type_v) {
    const char * H2O_FUSED = getenv("H2O_FUSED");
    if (H2O_FUSED && atoi(H2O_FUSED) == 0) {
        LLAMA_LOG_INFO("%s: fused attention disabled (H2O_FUSED)\n", __func__);
        return false;
    }
    for (uint32_t il = 0; cparams.offload_kqv && il < model.hparams.n_layer(); ++il) {
        ggml_backend_dev_t dev = model.dev_layer(il);

        const int64_t d_k     = model.hparams.n_embd_head_k(il);
        const int64_t d_v     = model.hparams.n_embd_head_v(il);
        const bool    v_trans = !cparams.flash_attn && !ggml_is_quantized(type_v);

        if (dev && !h2o_device_runs_attn(dev, d_k, d_v, type_k, type_v, v_trans)) {
            LLAMA_LOG_WARN("%s: %s has no fused H2O attention for heads of %d and a cache of %s and %s, using a graph of stock ops\n",
                    __func__, ggml_backend_dev_name(dev), (int) d_k, ggml_type_name(type_k), ggml_type_name(type_v));
            return false;
        }
    }
    return true;
}
