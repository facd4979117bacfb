#include "h2o-record.h"

#include "h2o-cache.h"
#include "h2o-device.h"

#include "llama-context.h"
#include "llama-impl.h"

#include <cinttypes>

bool h2o_get_last_call(const llama_context * ctx, h2o_call * call) {
    const h2o_record & h2o = *ctx->h2o;

    if (h2o.has_call) {
        *call = h2o.last;
    }
    return h2o.has_call;
}

h2o_info h2o_get_info(const llama_context * ctx) {
    const h2o_record    & h2o     = *ctx->h2o;
    const llama_cparams & cparams = ctx->get_cparams();

    size_t size_context = 0;
    size_t size_compute = 0;
    for (const auto & it : ctx->memory_breakdown()) {
        size_context += it.second.context;
        size_compute += it.second.compute;
    }

    // bytes on the devices beside K and V, alignment included
    std::map<ggml_backend_buffer_type_t, size_t> stored;
    if (h2o.cache) {
        h2o.cache->engine.store.add_to_breakdown(stored);
    }
    for (const auto & it : stored) {
        size_context -= it.second;
    }

    const size_t size_state = h2o.cache ? h2o.cache->engine.store.size_kept()    : 0;
    const size_t size_intra = h2o.cache ? h2o.cache->engine.store.size_working() : 0;
    const size_t size_index = h2o.cache ? h2o.cache->engine.store.size_index()   : 0;

    return {
        h2o.reason,
        cparams.h2o.schedule,
        cparams.h2o.policy,
        cparams.n_ubatch,
        cparams.h2o.n_local,
        cparams.h2o.n_heavy,
        cparams.h2o.heavy_grows,
        cparams.h2o.n_group,
        h2o.cache ? h2o.cache->get_decode() : 0,
        h2o.reason != H2O_REASON_NONE ? h2o.reason : h2o.cache->get_decode_reason(),
        size_state,
        size_index,
        size_intra,
        size_context,
        size_compute,
        h2o.size_sparse,
        h2o.cache && &h2o.cache->engine.block == &h2o_fused_block(),
        h2o_has_gpu_layer(ctx->get_model(), cparams),
        h2o.n_nodes,
    };
}

static bool h2o_has_sequence(const llama_context * ctx, llama_seq_id seq_id) {
    return ctx->h2o->cache && seq_id >= 0 && (uint32_t) seq_id < ctx->get_cparams().n_seq_max;
}

bool h2o_has_memory(const llama_context * ctx, llama_seq_id seq_id) {
    return h2o_has_sequence(ctx, seq_id) && ctx->h2o->cache->get_state(seq_id).remembers() &&
        llama_memory_seq_pos_max(ctx->get_memory(), seq_id) >= 0;
}

void h2o_reset_memory(llama_context * ctx, llama_seq_id seq_id) {
    if (ctx->h2o->cache) {
        ctx->h2o->cache->reset_states(seq_id);
    }
}

bool h2o_expect(llama_context * ctx, llama_seq_id seq_id, uint32_t n_tokens) {
    const bool is_served = h2o_has_sequence(ctx, seq_id) && ctx->h2o->reason == H2O_REASON_NONE;

    if (is_served) {
        ctx->h2o->cache->expect(seq_id, n_tokens);
    }
    return is_served;
}

h2o_count h2o_get_count(const llama_context * ctx, h2o_reason reason) {
    return reason >= 0 && reason < H2O_REASON_COUNT ? ctx->h2o->counts[reason] : h2o_count{};
}

h2o_count h2o_get_exact_count(const llama_context * ctx) {
    return ctx->h2o->exact;
}

h2o_count h2o_get_decode_count(const llama_context * ctx) {
    return ctx->h2o->decode;
}

bool h2o_set_decode(llama_context * ctx, uint32_t n) {
    const h2o_record & h2o = *ctx->h2o;

    if (h2o.reason != H2O_REASON_NONE || h2o.cache->get_decode_reason() != H2O_REASON_NONE) {
        return n == 0;
    }
    h2o_params params = h2o_default_params();
    params.n_decode = n;
    h2o.cache->set_decode(h2o_resolve_params(params, 0, 1).n_decode);
    return true;
}

void h2o_perf_print(const llama_context * ctx) {
    const h2o_record & h2o = *ctx->h2o;

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
    if (h2o.exact.n_calls > 0) {
        LLAMA_LOG_INFO("%s: %6" PRId64 " calls, %8" PRId64 " tokens of the dense ones took H2O's exact kernel\n", __func__,
                h2o.exact.n_calls, h2o.exact.n_tokens);
    }
    if (h2o.decode.n_calls > 0) {
        LLAMA_LOG_INFO("%s: %6" PRId64 " calls, %8" PRId64 " tokens of these chose their keys\n", __func__,
                h2o.decode.n_calls, h2o.decode.n_tokens);
    }
}

bool h2o_set_trace(llama_context * ctx, h2o_trace_level level) {
    h2o_cache * cache = ctx->h2o->cache;

    if (level == H2O_TRACE_MASS && ctx->get_cparams().h2o.trace != H2O_TRACE_MASS) {
        LLAMA_LOG_ERROR("%s: the context was not made for a trace of the mass\n", __func__);
        return false;
    }
    if (cache) {
        cache->engine.trace.level = level;
        if (level == H2O_TRACE_OFF) {
            cache->engine.trace.clear();
        }
    }
    return true;
}

int32_t h2o_trace_n(const llama_context * ctx) {
    return ctx->h2o->cache ? ctx->h2o->cache->engine.trace.get().size() : 0;
}

bool h2o_get_trace(const llama_context * ctx, int32_t i, h2o_trace * trace) {
    if (i < 0 || i >= h2o_trace_n(ctx)) {
        return false;
    }
    *trace = ctx->h2o->cache->engine.trace.get()[i];
    return true;
}
