#include "h2o-hooks.h"

#include "h2o-attn.h"
#include "h2o-coverage.h"
#include "h2o-trace-mass.h"

#include "llama-context.h"
#include "llama-impl.h"
#include "llama-memory.h"
#include "llama-model.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

void h2o_init_cparams(llama_cparams & cparams, const llama_context_params & params) {
    const h2o_budget asked = { params.h2o_local, params.h2o_heavy };
    const h2o_budget used  = h2o_budget_clamp(asked, cparams.n_ubatch);

    cparams.h2o_local    = used.n_local;
    cparams.h2o_heavy    = used.n_heavy;
    cparams.h2o_schedule = params.h2o_schedule;

    // an even split that fills the chunk is what the defaults give at the default chunk size: not worth a warning
    const bool is_even_split = asked.n_local == asked.n_heavy && (uint64_t) asked.n_local + asked.n_heavy == cparams.n_ubatch;

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
    if (h2o->reason == H2O_REASON_BATCH_TOO_SMALL) {
        LLAMA_LOG_WARN("%s: H2O can never run: n_batch (%u) holds no more than one chunk of n_ubatch (%u) tokens\n",
                __func__, cparams.n_batch, cparams.n_ubatch);
    } else if (h2o->reason != H2O_REASON_NONE && h2o->reason != H2O_REASON_OFF) {
        LLAMA_LOG_INFO("%s: H2O does not serve this context (%s): prefill is dense\n", __func__, h2o_reason_name(h2o->reason));
    }
    return h2o;
}

uint32_t h2o_graph_max_nodes(const h2o_session & h2o, const llama_context & lctx) {
    if (!h2o.cache) {
        return 0;
    }

    // per layer and chunk: intra (if each chunk is a batch of its own), inter, fusion and selection, views included
    uint64_t n_per_chunk = 96;

    const llama_hparams & hparams = lctx.get_model().hparams;

    if (h2o.cache->get_trace() == H2O_TRACE_MASS) {
        n_per_chunk += h2o_mass_max_nodes(lctx.n_ubatch(), h2o.cache->get_size(), hparams.n_head(0));
    }

    const uint64_t n_nodes = hparams.n_layer()*(128 + n_per_chunk*h2o.cache->get_n_graph_chunks());

    // a node takes some 400 bytes before it takes any data
    if (n_nodes > 1024*1024) {
        throw std::runtime_error(format("H2O would need a graph of %llu nodes for %u tokens in chunks of %u: "
                "use a smaller logical batch (-b, n_batch) or larger chunks (-ub, n_ubatch)",
                (unsigned long long) n_nodes, lctx.n_batch(), lctx.n_ubatch()));
    }
    return n_nodes;
}

// reserves one graph; a reason if it shows that the model is not covered
static h2o_reason h2o_reserve(
        h2o_session & h2o, llama_context & lctx, uint32_t n_tokens, const llama_kv_cache_h2o_context & mctx, size_t * sizes) {
    std::vector<size_t> sizes_here(ggml_backend_sched_get_n_backends(lctx.get_sched()), 0);

    // the last call of a prompt has a single output
    const auto reserve = [&](bool measure_only) {
        return lctx.graph_reserve(mctx.get_plan().n_graph_tokens(), 1, 1, &mctx, measure_only, measure_only ? sizes_here.data() : nullptr);
    };

    ggml_cgraph * gf = nullptr;
    try {
        gf = reserve(true);
        if (!lctx.get_model().hparams.no_alloc) {
            gf = reserve(false);
        }
    } catch (const h2o_not_covered &) {
        return H2O_REASON_UNSUPPORTED_ATTENTION;
    }
    if (!gf) {
        throw std::runtime_error(format("failed to allocate the compute buffers of a sparse prefill of %u tokens: "
                "use a smaller logical batch (-b, n_batch)", n_tokens));
    }

    for (size_t i = 0; i < sizes_here.size(); ++i) {
        sizes[i] = std::max(sizes[i], sizes_here[i]);
    }
    h2o.n_nodes     = std::max(h2o.n_nodes, ggml_graph_n_nodes(gf));
    h2o.size_sparse = std::max(h2o.size_sparse, std::accumulate(sizes_here.begin(), sizes_here.end(), size_t(0)));

    return h2o_coverage_of_graph(lctx.get_model(), *lctx.get_gf_res_reserve());
}

void h2o_sched_reserve(h2o_session & h2o, llama_context & lctx, size_t * sizes) {
    if (h2o.reason != H2O_REASON_NONE) {
        return;
    }

    const llama_cparams & cparams = lctx.get_cparams();

    const uint32_t n_tokens = std::min(cparams.n_ctx, cparams.n_batch);

    // a batch of whole chunks, and one with the longest tail
    for (const uint32_t n : { n_tokens, n_tokens - 1 }) {
        if (n <= cparams.n_ubatch) {
            continue;
        }

        for (const auto & mctx : h2o.cache->init_reserve(n)) {
            const h2o_reason reason = h2o_reserve(h2o, lctx, n, *mctx, sizes);

            if (reason != H2O_REASON_NONE) {
                h2o.reason = reason;
                h2o.cache->refuse(reason);

                LLAMA_LOG_WARN("%s: the graph of this model is not covered by H2O (%s): prefill stays dense\n",
                        __func__, h2o_reason_name(reason));
                return;
            }
        }
    }

    LLAMA_LOG_INFO("%s: schedule = %s, chunk = %u, local = %u, heavy = %u, nodes = %d\n", __func__,
            h2o_schedule_name((h2o_schedule) cparams.h2o_schedule), cparams.n_ubatch, cparams.h2o_local, cparams.h2o_heavy, h2o.n_nodes);
    LLAMA_LOG_INFO("%s: state = %.2f MiB (%.2f %% of the KV cache), intra cache = %.2f MiB, compute = %.2f MiB\n", __func__,
            h2o.cache->size_state()/1024.0/1024.0, 100.0*h2o.cache->size_state()/std::max<size_t>(1, h2o.cache->size_kv()),
            h2o.cache->size_intra()/1024.0/1024.0, h2o.size_sparse/1024.0/1024.0);
}

llm_graph_input_attn_kv * h2o_build_attn_inp(const llm_graph_context & g) {
    const auto * mctx = dynamic_cast<const llama_kv_cache_h2o_context *>(g.mctx);
    if (!mctx) {
        return nullptr;
    }

    mctx->cache->get_trace_nodes().clear();

    return (llm_graph_input_attn_kv *) g.res->add_input(std::make_unique<llm_graph_input_attn_h2o>(g, mctx));
}

bool h2o_is_sparse(const llama_memory_context_i * mctx) {
    return dynamic_cast<const llama_kv_cache_h2o_context *>(mctx);
}

bool h2o_stores_kv(const llm_graph_input_attn_kv * inp) {
    const auto * h2o = dynamic_cast<const llm_graph_input_attn_h2o *>(inp);

    return !h2o || h2o->plan.stores_kv();
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
        ggml_backend_sched_set_tensor_backend(g.sched, cur->view_src ? cur->view_src : cur, g.backend_cpu);
    }

    h2o->n_layers_built++;

    return cur;
}

bool h2o_defers_outputs(const llama_memory_context_i * mctx) {
    const auto * h2o = dynamic_cast<const llama_kv_cache_h2o_context *>(mctx);

    return h2o && h2o->get_plan().phase == H2O_PHASE_INTRA;
}

bool h2o_ubatch_done(h2o_session & h2o, llama_context & lctx, const llama_memory_context_i * mctx) {
    const auto * sparse = dynamic_cast<const llama_kv_cache_h2o_context *>(mctx);
    if (!sparse) {
        return false;
    }

    if (sparse->get_plan().is_first()) {
        h2o.trace.clear();
    }
    if (sparse->get_plan().trace) {
        lctx.synchronize();
        h2o.read_trace();
    }
    return h2o_defers_outputs(mctx);
}

void h2o_decode_done(h2o_session & h2o, const llama_batch & batch) {
    if (h2o.cache) {
        h2o.cache->commit();
        h2o.last = h2o.cache->get_call();

        if (h2o.last.path == H2O_PATH_DENSE) {
            h2o.trace.clear();
        }
        std::stable_sort(h2o.trace.begin(), h2o.trace.end(), [](const auto & a, const auto & b) { return a.node.il < b.node.il; });
    } else {
        h2o.last = { batch.n_tokens, batch.pos[0], H2O_PATH_DENSE, h2o.reason, 0, 0 };
    }
    h2o.has_call = true;

    h2o_count & count = h2o.counts[h2o.last.reason];
    count.n_calls  += 1;
    count.n_tokens += h2o.last.n_tokens;
}

void h2o_decode_failed(h2o_session & h2o, const llama_batch & batch) {
    if (h2o.cache) {
        h2o.cache->rollback(batch);
    }
}
