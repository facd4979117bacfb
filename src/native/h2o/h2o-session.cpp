// The C interface of h2o.h on top of h2o_session.

#include "h2o-session.h"

#include "llama-context.h"
#include "llama-impl.h"

#include <cinttypes>

template <typename T>
static void h2o_read_tensor(const ggml_tensor * t, std::vector<T> & dst) {
    dst.resize(t ? ggml_nelements(t) : 0);
    if (t) {
        ggml_backend_tensor_get(t, dst.data(), 0, ggml_nbytes(t));
    }
}

void h2o_session::read_trace() {
    for (const h2o_trace_node & node : cache->get_trace_nodes()) {
        trace_entry & entry = trace.emplace_back();

        entry.node      = node;
        entry.n_head_kv = node.chunk_score->ne[1];

        h2o_read_tensor(node.mem_pos,     entry.mem_pos);
        h2o_read_tensor(node.mem_score,   entry.mem_score);
        h2o_read_tensor(node.chunk_score, entry.chunk_score);
        h2o_read_tensor(node.mass,        entry.mass);
    }
}

bool h2o_get_last_call(const llama_context * ctx, h2o_call * call) {
    const h2o_session & h2o = *ctx->h2o;

    if (h2o.has_call) {
        *call = h2o.last;
    }
    return h2o.has_call;
}

h2o_info h2o_get_info(const llama_context * ctx) {
    const h2o_session   & h2o     = *ctx->h2o;
    const llama_cparams & cparams = ctx->get_cparams();

    size_t size_context = 0;
    size_t size_compute = 0;
    for (const auto & it : ctx->memory_breakdown()) {
        size_context += it.second.context;
        size_compute += it.second.compute;
    }

    const size_t size_state = h2o.cache ? h2o.cache->size_state() : 0;
    const size_t size_intra = h2o.cache ? h2o.cache->size_intra() : 0;
    const size_t size_kv    = h2o.cache ? h2o.cache->size_kv()    : size_context;

    return {
        h2o.reason,
        (h2o_schedule) cparams.h2o_schedule,
        cparams.n_ubatch,
        cparams.h2o_local,
        cparams.h2o_heavy,
        size_state,
        size_intra,
        size_kv,
        size_compute,
        h2o.size_sparse,
        h2o.cache && h2o.cache->get_fused(),
        h2o.n_nodes,
    };
}

bool h2o_has_memory(const llama_context * ctx) {
    return ctx->h2o->cache && ctx->h2o->cache->has_memory();
}

void h2o_reset_memory(llama_context * ctx) {
    if (ctx->h2o->cache) {
        ctx->h2o->cache->reset_memory();
    }
}

h2o_count h2o_get_count(const llama_context * ctx, h2o_reason reason) {
    return reason >= 0 && reason < H2O_REASON_COUNT ? ctx->h2o->counts[reason] : h2o_count{};
}

void h2o_perf_print(const llama_context * ctx) {
    const h2o_session & h2o = *ctx->h2o;

    // a context that was not asked for H2O has nothing to say, nor has one that only ever decoded
    bool is_asked = false;
    for (int i = 0; i < H2O_REASON_COUNT; ++i) {
        is_asked = is_asked || (i != H2O_REASON_OFF && i != H2O_REASON_ONE_CHUNK && h2o.counts[i].n_calls > 0);
    }
    if (!is_asked) {
        return;
    }

    for (int i = 0; i < H2O_REASON_COUNT; ++i) {
        const h2o_count & count = h2o.counts[i];
        if (count.n_calls > 0) {
            LLAMA_LOG_INFO("%s: %6" PRId64 " calls, %8" PRId64 " tokens: %s%s%s\n", __func__, count.n_calls, count.n_tokens,
                    h2o_path_name(i == H2O_REASON_NONE ? H2O_PATH_SPARSE : H2O_PATH_DENSE),
                    i == H2O_REASON_NONE ? "" : ", ", i == H2O_REASON_NONE ? "" : h2o_reason_name((h2o_reason) i));
        }
    }
}

void h2o_ask_reserve(llama_context & ctx) {
    const bool causal = ctx.get_cparams().causal_attn;

    // a change of what the mask depends on: upstream has no plainer way
    ctx.set_causal_attn(!causal);
    ctx.set_causal_attn(causal);
}

void h2o_set_trace(llama_context * ctx, h2o_trace_level level) {
    llama_kv_cache_h2o * cache = ctx->h2o->cache;

    if (cache) {
        const bool is_budget_changed = (cache->get_trace() == H2O_TRACE_MASS) != (level == H2O_TRACE_MASS);

        cache->set_trace(level);

        if (is_budget_changed) {
            h2o_ask_reserve(*ctx); // the next call does
        }
    }
    if (level == H2O_TRACE_OFF) {
        ctx->h2o->trace.clear();
    }
}

int32_t h2o_trace_n(const llama_context * ctx) {
    return ctx->h2o->trace.size();
}

bool h2o_get_trace(const llama_context * ctx, int32_t i, h2o_trace * trace) {
    const auto & entries = ctx->h2o->trace;

    if (i < 0 || (size_t) i >= entries.size()) {
        return false;
    }

    const h2o_session::trace_entry & e = entries[i];

    *trace = {
        e.node.il, e.node.pos, e.node.n_chunk, e.n_head_kv, (int32_t) e.mem_pos.size()/e.n_head_kv,
        e.mem_pos.data(), e.mem_score.data(), e.chunk_score.data(), e.mass.empty() ? nullptr : e.mass.data(),
    };
    return true;
}
