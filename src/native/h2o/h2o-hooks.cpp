#include "h2o-hooks.h"

#include "h2o-attn.h"
#include "h2o-coverage.h"

#include "llama-context.h"
#include "llama-impl.h"
#include "llama-memory.h"
#include "llama-model.h"

#include <algorithm>
#include <stdexcept>

void h2o_init_cparams(llama_cparams & cparams, const llama_context_params & params) {
    const h2o_budget asked = { params.h2o_local, params.h2o_heavy };
    const h2o_budget used  = h2o_budget_clamp(asked, cparams.n_ubatch);

    cparams.h2o_local = used.n_local;
    cparams.h2o_heavy = used.n_heavy;

    // an even split that fills the chunk is what the defaults give at the default chunk size: not worth a warning
    const bool is_even_split = asked.n_local == asked.n_heavy && asked.n_local + asked.n_heavy == cparams.n_ubatch;

    if ((used.n_local != asked.n_local || used.n_heavy != asked.n_heavy) && !is_even_split) {
        LLAMA_LOG_WARN("%s: H2O needs local + heavy < n_ubatch (%u): using local = %u, heavy = %u\n",
                __func__, cparams.n_ubatch, used.n_local, used.n_heavy);
    }
}

llama_memory_i * h2o_create_memory(const llama_model & model, const llama_memory_params & params, const llama_cparams & cparams) {
    if (h2o_coverage(model, cparams) != H2O_REASON_NONE || params.mem_other) {
        return nullptr;
    }
    return new llama_kv_cache_h2o(model, model.hparams, cparams, params.type_k, params.type_v);
}

std::unique_ptr<h2o_session> h2o_create_session(const llama_model & model, const llama_cparams & cparams, llama_memory_i * memory) {
    auto h2o = std::make_unique<h2o_session>();

    h2o->reason = h2o_coverage(model, cparams);
    h2o->cache  = dynamic_cast<llama_kv_cache_h2o *>(memory);

    if (h2o->reason == H2O_REASON_NONE && !h2o->cache) {
        h2o->reason = H2O_REASON_UNSUPPORTED_MEMORY;
    }
    return h2o;
}

uint32_t h2o_graph_max_nodes(const llama_model & model, const llama_cparams & cparams) {
    if (h2o_coverage(model, cparams) != H2O_REASON_NONE) {
        return 0;
    }

    // per layer: intra twice (full chunks, tail), then inter, fusion and selection per chunk; views included
    const uint32_t n_chunks = (cparams.n_batch + cparams.n_ubatch - 1)/cparams.n_ubatch;

    return model.hparams.n_layer()*(128 + 64*n_chunks);
}

static void h2o_refuse(h2o_session & h2o, h2o_reason reason) {
    h2o.reason = reason;
    h2o.cache->refuse(reason);

    LLAMA_LOG_WARN("%s: this model's graph is not covered by H2O (%s): prefill stays dense\n", __func__, h2o_reason_name(reason));
}

void h2o_sched_reserve(h2o_session & h2o, llama_context & lctx, size_t * sizes) {
    if (h2o.reason != H2O_REASON_NONE) {
        return;
    }

    const llama_cparams & cparams = lctx.get_cparams();

    const bool no_alloc = lctx.get_model().hparams.no_alloc;

    const uint32_t n_tokens = std::min(cparams.n_ctx, cparams.n_batch);

    // a batch of whole chunks, and one with the longest tail; the last call of a prompt has a single output
    for (const uint32_t n : { n_tokens, n_tokens - 1 }) {
        if (n <= cparams.n_ubatch) {
            continue;
        }

        const auto mctx = h2o.cache->init_reserve(n);

        ggml_cgraph * gf = nullptr;
        try {
            gf = lctx.graph_reserve(n, 1, 1, mctx.get(), no_alloc, no_alloc ? sizes : nullptr);
        } catch (const h2o_not_covered &) {
            h2o_refuse(h2o, H2O_REASON_UNSUPPORTED_ATTENTION);
            return;
        }
        if (!gf) {
            throw std::runtime_error(format("failed to allocate the compute buffers of a sparse prefill of %u tokens: "
                    "use a smaller logical batch (-b, n_batch)", n));
        }

        const h2o_reason reason = h2o_coverage_of_graph(lctx.get_model(), *lctx.get_gf_res_reserve());
        if (reason != H2O_REASON_NONE) {
            h2o_refuse(h2o, reason);
            return;
        }

        h2o.n_nodes = std::max(h2o.n_nodes, ggml_graph_n_nodes(gf));
    }

    LLAMA_LOG_INFO("%s: chunk = %u, local = %u, heavy = %u, state = %.2f MiB (%.2f %% of the KV cache), nodes = %d\n", __func__,
            cparams.n_ubatch, cparams.h2o_local, cparams.h2o_heavy, h2o.cache->size_state()/1024.0/1024.0,
            100.0*h2o.cache->size_state()/std::max<size_t>(1, h2o.cache->size_kv()), h2o.n_nodes);
}

llm_graph_input_attn_kv * h2o_build_attn_inp(const llm_graph_context & g) {
    const auto * mctx = dynamic_cast<const llama_kv_cache_h2o_context *>(g.mctx);
    if (!mctx) {
        return nullptr;
    }

    mctx->cache->get_trace_nodes().clear();

    return (llm_graph_input_attn_kv *) g.res->add_input(std::make_unique<llm_graph_input_attn_h2o>(g, mctx));
}

ggml_tensor * h2o_build_attn(
        const llm_graph_context       & g,
        const llm_graph_input_attn_kv * inp,
        ggml_tensor                   * q,
        ggml_tensor                   * k,
        ggml_tensor                   * v,
        ggml_tensor                   * kq_b,
        ggml_tensor                   * sinks,
        float                           kq_scale,
        int                             il) {
    const auto * h2o = dynamic_cast<const llm_graph_input_attn_h2o *>(inp);
    if (!h2o) {
        return nullptr;
    }
    if (kq_b || sinks) {
        throw h2o_not_covered();
    }

    ggml_tensor * cur = h2o_build_attn_layer(g, *h2o, q, k, v, kq_scale, il);
    ggml_build_forward_expand(g.gf, cur);

    if (!g.cparams.offload_kqv) {
        // as build_attn_mha does: everything between the KV store and the attention output runs on the CPU
        ggml_backend_sched_set_tensor_backend(g.sched, cur, g.backend_cpu);
    }

    h2o->n_layers_built++;

    return cur;
}

void h2o_decode_done(h2o_session & h2o, llama_context & lctx, const llama_batch & batch) {
    if (h2o.cache) {
        h2o.cache->commit();
        h2o.last = h2o.cache->get_call();

        h2o.trace.clear();
        if (h2o.last.path == H2O_PATH_SPARSE && !h2o.cache->get_trace_nodes().empty()) {
            lctx.synchronize();
            h2o.read_trace();
        }
    } else {
        h2o.last = { batch.n_tokens, batch.pos[0], H2O_PATH_DENSE, h2o.reason, 0, 0 };
    }
    h2o.has_call = true;
}

void h2o_decode_failed(h2o_session & h2o) {
    if (h2o.cache) {
        h2o.cache->rollback();
    }
}
