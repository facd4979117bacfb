#include "h2o-device.h"

#include "ops/ggml-h2o.h"

#include "llama-arch.h"
#include "llama-cparams.h"
#include "llama-impl.h"
#include "llama-kv-cache.h"
#include "llama-model.h"

#include "ggml-cpp.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

static bool h2o_is_remote(ggml_backend_dev_t dev) {
    return strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(dev)), "RPC") == 0;
}

static ggml_context_ptr h2o_new_context() {
    return ggml_context_ptr(ggml_init({ 16*ggml_tensor_overhead(), nullptr, true }));
}

// the attention of one head of a layer, as the graphs of this policy will ask for it
static bool h2o_device_runs_attn(
        ggml_backend_dev_t        dev,
        const h2o_policy_traits & policy,
        int64_t                   d_k,
        int64_t                   d_v,
        ggml_type                 type_k,
        ggml_type                 type_v,
        bool                      v_trans) {
    if (d_k % ggml_blck_size(type_k) != 0 || d_v % ggml_blck_size(type_v) != 0) {
        return false;
    }
    const ggml_context_ptr ctx = h2o_new_context();

    const int64_t n_queries = 2*GGML_H2O_BLOCK;
    const int64_t n_keys    = n_queries + (policy.has_local_near ? 64 : 0); // a Local

    ggml_tensor * q   = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, d_k, 1, n_queries);
    ggml_tensor * k   = ggml_new_tensor_3d(ctx.get(), type_k, d_k, n_keys, 1);
    ggml_tensor * v   = ggml_new_tensor_3d(ctx.get(), type_v, v_trans ? n_keys : d_v, v_trans ? d_v : n_keys, 1);
    ggml_tensor * set = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_I32, 64, 1, policy.has_own_sets ? 2 : 1);

    for (ggml_tensor * set_or_null : { (ggml_tensor *) nullptr, set }) {
        if (!ggml_backend_dev_supports_op(dev, ggml_h2o_attn(
                ctx.get(), q, k, v, set_or_null, nullptr, nullptr, nullptr, v_trans, !set_or_null, policy.casts_votes, 1.0f))) {
            return false;
        }
    }
    return true;
}

// RPC asks the other side about our op alone, and answers yes to every other
bool h2o_has_honest_devices(const llama_model & model) {
    for (const auto & dev : model.devices) {
        if (h2o_is_remote(dev.dev) &&
            !h2o_device_runs_attn(dev.dev, *h2o_get_policy(0), 64, 64, GGML_TYPE_F16, GGML_TYPE_F16, false)) {
            return false;
        }
    }
    return true;
}

static bool h2o_has_sinks(const llama_model & model) {
    return std::any_of(model.layers.begin(), model.layers.end(), [](const llama_layer & l) { return l.attn_sinks; });
}

bool h2o_has_fused_attn(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn) {
    const char * H2O_FUSED = getenv("H2O_FUSED");
    if (H2O_FUSED && atoi(H2O_FUSED) == 0) {
        LLAMA_LOG_INFO("%s: fused attention disabled (H2O_FUSED)\n", __func__);
        return false;
    }
    if (model.hparams.attn_soft_cap) {
        return false;
    }
    const h2o_policy_traits & policy = *h2o_get_policy_traits(cparams.h2o.policy);
    if (policy.casts_votes && h2o_has_sinks(model)) {
        return false; // the op would give the votes of a query whose sink takes all as much weight as any other's
    }
    if (!cparams.offload_kqv) {
        return true; // all of it runs on the CPU
    }
    for (const uint32_t il : attn.get_layer_ids()) {
        ggml_backend_dev_t dev = model.dev_layer(il);

        const ggml_type type_k = attn.type_k();
        const ggml_type type_v = attn.type_v();

        const int64_t d_k     = model.hparams.n_embd_head_k(il);
        const int64_t d_v     = model.hparams.n_embd_head_v(il);
        const bool    v_trans = !cparams.flash_attn && !ggml_is_quantized(type_v);

        if (dev && !h2o_device_runs_attn(dev, policy, d_k, d_v, type_k, type_v, v_trans)) {
            LLAMA_LOG_WARN("%s: %s has no fused H2O attention for heads of %d and a cache of %s and %s, "
                    "using a graph of stock ops\n",
                    __func__, ggml_backend_dev_name(dev), (int) d_k, ggml_type_name(type_k), ggml_type_name(type_v));
            return false;
        }
    }
    return true;
}

bool h2o_is_cpu(ggml_backend_dev_t dev) {
    return !dev || ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_CPU;
}

bool h2o_is_exact_layer(const llama_model & model, const llama_cparams & cparams, uint32_t il) {
    return !cparams.offload_kqv || h2o_is_cpu(model.dev_layer(il));
}

bool h2o_has_gpu_layer(const llama_model & model, const llama_cparams & cparams) {
    for (uint32_t il = 0; il < model.hparams.n_layer(); ++il) {
        if (!h2o_is_exact_layer(model, cparams, il) && !h2o_is_remote(model.dev_layer(il))) {
            return true;
        }
    }
    return false;
}

bool h2o_has_exact(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn) {
    if (cparams.h2o.upstream_products) {
        return false;
    }
    const std::vector<uint32_t> layers = attn.get_layer_ids();

    return std::any_of(layers.begin(), layers.end(), [&](uint32_t il) { return h2o_is_exact_layer(model, cparams, il); });
}

bool h2o_is_plain(const llama_model & model) {
    return model.hparams.swa_type == LLAMA_SWA_TYPE_NONE && !llm_arch_is_hybrid(model.arch);
}

// Upstream never puts more than n_ubatch tokens into a graph, and its ops have limits that only longer ones meet: 2^16
// rows of a CUDA grid (norm, rope), 2^30 bytes of offset (SET, into the queries), shared memory (experts). This is well
// below.
static constexpr uint32_t h2o_max_graph_tokens = 16384;

// On a device a graph holds the whole call if it can, so that its chunks' intra attention is one launch. The CPU gains
// nothing from more than one chunk, and pays with compute buffers that grow with n_batch and with activations that
// leave its caches. A window cache has no more room than for its window and a ubatch, and an unrolled recurrence takes
// nodes for every few tokens. Machines work on several chunks at once if each is a graph of its own. H2O_GRAPH_CHUNKS:
// so many, for tests of what a device does.
int32_t h2o_n_graph_chunks(const llama_model & model, const llama_cparams & cparams) {
    if (!h2o_is_plain(model)) {
        return 1;
    }
    const uint32_t n_chunks = (cparams.n_batch + cparams.n_ubatch - 1)/cparams.n_ubatch;

    const char * H2O_GRAPH_CHUNKS = getenv("H2O_GRAPH_CHUNKS");
    if (H2O_GRAPH_CHUNKS) {
        return std::clamp<int32_t>(atoi(H2O_GRAPH_CHUNKS), 1, n_chunks);
    }
    for (uint32_t il = 0; il < model.hparams.n_layer(); ++il) {
        ggml_backend_dev_t dev = model.dev_layer(il);

        if (dev && h2o_is_remote(dev)) {
            return 1;
        }
        if (dev && ggml_backend_dev_type(dev) != GGML_BACKEND_DEVICE_TYPE_CPU) {
            return std::clamp(h2o_max_graph_tokens/cparams.n_ubatch, 1u, n_chunks);
        }
    }
    return 1;
}
