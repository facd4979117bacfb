#include "h2o-hooks.h"

#include "h2o-cache.h"
#include "h2o-chain.h"
#include "h2o-coverage.h"
#include "h2o-device.h"
#include "h2o-exact.h"
#include "h2o-families.h"
#include "h2o-probe.h"

#include "ops/ggml-h2o.h"

#include "llama-context.h"
#include "llama-impl.h"
#include "llama-model.h"

#include <algorithm>
#include <map>
#include <stdexcept>

// query heads to a KV head, in the layer with the most
static uint32_t h2o_max_group(const llama_hparams & hparams) {
    uint32_t res = 1;
    for (uint32_t il = 0; il < hparams.n_layer(); ++il) {
        res = std::max(res, hparams.n_gqa(il));
    }
    return res;
}

void h2o_init_cparams(llama_cparams & cparams, const llama_context_params & params, const llama_model & model) {
    const h2o_params asked = params.h2o ? *params.h2o : h2o_default_params();
    const uint32_t   group = h2o_max_group(model.hparams);
    const h2o_params used  = h2o_resolve_params(asked, cparams.n_ubatch, group);

    if (!h2o_get_policy_traits(used.policy)) {
        throw std::runtime_error(format("unknown H2O policy %d", (int) used.policy));
    }
    static_cast<h2o_params &>(cparams.h2o) = used;
    cparams.h2o.n_group = group;

    if (h2o_lowers_params(asked, cparams.n_ubatch)) {
        LLAMA_LOG_WARN("%s: H2O needs local, with votes local + heavy, below n_ubatch (%u): using local = %u, heavy = %u\n",
                __func__, cparams.n_ubatch, used.n_local, used.n_heavy);
    }
}

void h2o_mark_linear(const llm_graph_context & g, ggml_tensor * mul_mat) {
    if (!g.cparams.h2o.upstream_products) {
        ggml_h2o_mark_linear(mul_mat);
    }
}

std::unique_ptr<h2o_record> h2o_create_record(
        const llama_model & model, llama_cparams & cparams, llama_memory_i * memory) {
    auto h2o = std::make_unique<h2o_record>();

    cparams.h2o.record = h2o.get();

    h2o->reason = h2o_coverage(model, cparams);
    h2o->cache  = h2o_cache_of(memory);

    if (h2o->reason == H2O_REASON_NONE && !h2o->cache) {
        h2o->reason = H2O_REASON_UNSUPPORTED_MEMORY;
    }
    if (h2o->reason == H2O_REASON_BATCH_TOO_SMALL) {
        LLAMA_LOG_WARN("%s: H2O can never run: no call holds more than one chunk of n_ubatch (%u) tokens "
                "(n_batch = %u, n_ctx_seq = %u)\n", __func__, cparams.n_ubatch, cparams.n_batch, cparams.n_ctx_seq);
    } else if (h2o->reason != H2O_REASON_NONE && h2o->reason != H2O_REASON_OFF) {
        LLAMA_LOG_INFO("%s: H2O does not serve this context (%s): prefill is dense\n",
                __func__, h2o_reason_name(h2o->reason));
    }
    // the search multiplies each key twice, at the rate of attention (docs/gpu.md)
    if (h2o->reason == H2O_REASON_NONE && cparams.h2o.heavy_grows && h2o_has_gpu_layer(model, cparams)) {
        LLAMA_LOG_WARN("%s: on a GPU, sets that grow with the prompt are expected to take longer than dense attention: "
                "give H2O a number of heavy positions, or switch it off\n", __func__);
    }
    return h2o;
}

uint32_t h2o_graph_max_nodes(const h2o_record & h2o, const llama_context & lctx) {
    return h2o.cache ? h2o_max_nodes(lctx, *h2o.cache) : 0;
}

void h2o_sched_reserve(h2o_record & h2o, llama_context & lctx, size_t * sizes) {
    if (h2o.reason != H2O_REASON_NONE) {
        return;
    }

    const h2o_probe_result found = h2o_probe(lctx, *h2o.cache, sizes);

    h2o.n_nodes     = std::max(h2o.n_nodes,     found.n_nodes);
    h2o.size_sparse = std::max(h2o.size_sparse, found.size);

    if (found.reason != H2O_REASON_NONE) {
        h2o.reason = found.reason;
        h2o.cache->refuse(found.reason);

        LLAMA_LOG_WARN("%s: the graph of this model is not covered by H2O (%s): prefill stays dense\n",
                __func__, h2o_reason_name(found.reason));
        return;
    }

    h2o.layers       = found.layers;
    h2o.flops_linear = found.flops;

    const h2o_info info = h2o_get_info(&lctx);

    LLAMA_LOG_INFO("%s: schedule = %s, chunk = %u, local = %u, heavy = %u, nodes = %d\n", __func__,
            h2o_schedule_name(info.schedule), info.n_chunk, info.n_local, info.n_heavy, h2o.n_nodes);
    LLAMA_LOG_INFO("%s: state = %.2f MiB (%.2f %% of the KV cache), intra cache = %.2f MiB, compute = %.2f MiB\n",
            __func__, info.size_state/1024.0/1024.0, 100.0*info.size_state/std::max<size_t>(1, info.size_kv),
            info.size_intra/1024.0/1024.0, h2o.size_sparse/1024.0/1024.0);
}

// the sparse call that is under way, whatever family of memory it goes through, if its next graph is sparse, too; else null
static const h2o_sparse_context * h2o_sparse(const llama_memory_context_i * mctx) {
    const auto * sparse = dynamic_cast<const h2o_sparse_context *>(mctx);

    return sparse && sparse->get_plan() ? sparse : nullptr;
}

// null in a dense call's graph
static const llm_graph_input_h2o * h2o_input(const llm_graph_result & res) {
    for (const auto & input : res.inputs) {
        if (const auto * h2o = dynamic_cast<const llm_graph_input_h2o *>(input.get())) {
            return h2o;
        }
    }
    return nullptr;
}

// whether the graph takes the kernel of short dense calls
static bool h2o_is_exact(const llama_memory_context_i * mctx, const llama_cparams & cparams) {
    if (const auto * sparse = dynamic_cast<const h2o_sparse_context *>(mctx)) {
        return sparse->get_step().is_exact;
    }
    const h2o_record * h2o = cparams.h2o.record;

    return h2o && h2o->cache && (h2o->cache->get_call().is_exact || h2o->cache->get_call().n_decode > 0);
}

// null in a graph that does not
static const llm_graph_input_h2o_exact * h2o_exact_input(const llm_graph_result & res) {
    for (const auto & input : res.inputs) {
        if (const auto * exact = dynamic_cast<const llm_graph_input_h2o_exact *>(input.get())) {
            return exact;
        }
    }
    return nullptr;
}

void h2o_build_inp(const llm_graph_context & g) {
    if (const h2o_sparse_context * sparse = h2o_sparse(g.mctx)) {
        sparse->get_engine().trace.begin_graph();

        g.res->add_input(std::make_unique<llm_graph_input_h2o>(g, *sparse));
    } else if (h2o_is_exact(g.mctx, g.cparams)) {
        g.res->add_input(std::make_unique<llm_graph_input_h2o_exact>(g.ctx0, *g.cparams.h2o.record->cache));
    }
}

bool h2o_can_reuse(const llm_graph_result & res, const llm_graph_params & params) {
    return h2o_sparse(params.mctx) ? h2o_input(res) != nullptr :
        h2o_is_exact(params.mctx, params.cparams) == (h2o_exact_input(res) != nullptr);
}

bool h2o_stores_kv(const llm_graph_context & g) {
    const h2o_sparse_context * sparse = h2o_sparse(g.mctx);

    return !sparse || sparse->get_plan()->stores_kv();
}

// into the graph, where build_attn_mha would put its own
static void h2o_add_attn(const llm_graph_context & g, ggml_tensor * cur) {
    ggml_build_forward_expand(g.gf, cur);

    if (!g.cparams.offload_kqv) {
        // as build_attn_mha does: everything between the KV store and the attention output runs on the CPU
        ggml_backend_sched_set_tensor_backend(g.sched, cur->view_src ? cur->view_src : cur, g.backend_cpu);
    }
}

// a reservation reads all streams of the cache, a call one of them
static ggml_tensor * h2o_view_stream(ggml_context * ctx, ggml_tensor * t) {
    return t->ne[3] == 1 ? t : ggml_view_4d(ctx, t, t->ne[0], t->ne[1], t->ne[2], 1, t->nb[1], t->nb[2], t->nb[3], 0);
}

ggml_tensor * h2o_build_attn(
        const llm_graph_context & g,
        ggml_tensor             * q,
        ggml_tensor           * & k,
        ggml_tensor           * & v,
        ggml_tensor             * kq_b,
        ggml_tensor             * kq_mask,
        ggml_tensor             * sinks,
        float                     kq_scale,
        int                       il) {
    const float cap = g.hparams.attn_soft_cap ? g.hparams.f_attn_logit_softcapping : 0.0f;

    const h2o_softmax softmax = { kq_scale, cap, sinks };

    if (const llm_graph_input_h2o_exact * exact = h2o_exact_input(*g.res)) {
        ggml_tensor * cur = kq_b ? nullptr : h2o_build_exact(g.ctx0, *exact, q, k, v, kq_mask, softmax, il);
        if (cur) {
            h2o_add_attn(g, cur);
        }
        return cur;
    }

    const llm_graph_input_h2o * h2o = h2o_input(*g.res);
    if (h2o) {
        k = h2o_view_stream(g.ctx0, k);
        v = h2o_view_stream(g.ctx0, v);
    }

    const int32_t owner = h2o ? h2o->find_owner(k, il) : -1;
    if (owner < 0) {
        return nullptr;
    }
    if (kq_b || (owner != il && h2o->plan.phase != H2O_PHASE_BOTH)) {
        throw h2o_not_covered();
    }

    ggml_tensor * cur = h2o_build_attn_layer(g, *h2o, q, k, v, softmax, il, owner);
    h2o_add_attn(g, cur);

    h2o->built.insert(il);

    return cur;
}

bool h2o_defers_outputs(const llama_memory_context_i * mctx) {
    const h2o_sparse_context * sparse = h2o_sparse(mctx);

    return sparse && sparse->get_plan()->phase == H2O_PHASE_INTRA;
}

bool h2o_ubatch_done(h2o_record & h2o, llama_context & lctx, const llama_memory_context_i * mctx) {
    const h2o_sparse_context * sparse = h2o_sparse(mctx);
    if (!sparse) {
        if (h2o.cache) {
            h2o.cache->dense_graph_done();
        }
        return false;
    }

    h2o.cache->graph_done(*sparse->get_plan());

    if (sparse->get_plan()->trace) {
        lctx.synchronize();
        h2o.cache->engine.trace.read();
    }
    return h2o_defers_outputs(mctx);
}

// a call counts once for each reason that its sequences have
static void h2o_count_call(h2o_record & h2o) {
    std::map<h2o_reason, int64_t> n_tokens;

    if (h2o.cache) {
        for (const h2o_run & run : h2o.cache->get_runs()) {
            n_tokens[run.reason] += run.n_tokens;
        }
    } else {
        n_tokens[h2o.reason] = h2o.last.n_tokens;
    }
    for (const auto & [reason, n] : n_tokens) {
        h2o.counts[reason].n_calls  += 1;
        h2o.counts[reason].n_tokens += n;
    }
}

void h2o_decode_done(h2o_record & h2o, const llama_batch & batch) {
    if (h2o.cache) {
        h2o.cache->commit();
        h2o.last = h2o.cache->get_call();

        if (h2o.last.path == H2O_PATH_DENSE) {
            h2o.cache->engine.trace.clear();
        }
        h2o.cache->engine.trace.sort();
    } else {
        h2o.last = {};
        h2o.last.n_tokens      = batch.n_tokens;
        h2o.last.pos           = batch.pos[0];
        h2o.last.path          = H2O_PATH_DENSE;
        h2o.last.reason        = h2o.reason;
        h2o.last.decode_reason = h2o.reason;
    }
    h2o.has_call = true;

    h2o_count_call(h2o);

    if (h2o.last.is_exact) {
        h2o.exact.n_calls  += 1;
        h2o.exact.n_tokens += h2o.last.n_tokens;
    }
    if (h2o.last.n_decode > 0) {
        h2o.decode.n_calls  += 1;
        h2o.decode.n_tokens += h2o.last.n_tokens;
    }
}

// every sequence of the batch loses what it got and all that follows, where the memory can go back that far
void h2o_decode_failed(h2o_record & h2o, const llama_batch & batch) {
    if (!h2o.cache) {
        return;
    }
    if (h2o.cache->keeps_graphs()) {
        h2o.cache->commit(); // upstream has removed the graph that failed
        return;
    }

    std::map<llama_seq_id, llama_pos> pos_min;

    for (int32_t i = 0; i < batch.n_tokens; ++i) {
        for (int32_t s = 0; s < batch.n_seq_id[i]; ++s) {
            const auto it = pos_min.emplace(batch.seq_id[i][s], batch.pos[i]).first;
            it->second = std::min(it->second, batch.pos[i]);
        }
    }
    for (const auto & [seq_id, pos] : pos_min) {
        h2o.cache->call_failed(seq_id, pos);
    }
}
