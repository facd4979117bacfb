#include "h2o-experiments.h"

#include "h2o-session.h"

#include "llama-context.h"
#include "llama-impl.h"

#include <algorithm>
#include <cstring>
#include <exception>

// the last keys of a chunk are seen by a handful of queries: their few votes are not worth a whole chunk's
static const float H2O_CAUSAL_MAX = 16.0f;

h2o_experiments h2o_experiments_default(void) {
    return { 0, 0, false, false, false, 1.0f };
}

bool operator==(const h2o_experiments & a, const h2o_experiments & b) {
    return
        a.n_sink      == b.n_sink      &&
        a.vote_window == b.vote_window &&
        a.vote_fused  == b.vote_fused  &&
        a.vote_causal == b.vote_causal &&
        a.vote_mean   == b.vote_mean   &&
        a.decay       == b.decay;
}

bool h2o_is_default(const h2o_experiments & e) {
    return e == h2o_experiments_default();
}

const char * h2o_experiments_error(const h2o_experiments & e, h2o_schedule schedule) {
    if (!(e.decay > 0.0f && e.decay <= 1.0f)) {
        return "decay must be above 0 and at most 1";
    }
    if (e.vote_fused && schedule == H2O_SCHEDULE_TWO_PASS) {
        return "votes by the share in the fused softmax need the single-pass schedule: phase 1 of two-pass sums its votes "
            "before phase 2 knows the shares";
    }
    return nullptr;
}

bool h2o_needs_composed(const h2o_experiments & e) {
    return e.vote_window > 0 || e.vote_fused;
}

uint32_t h2o_fingerprint(const h2o_experiments & e) {
    if (h2o_is_default(e)) {
        return 0;
    }

    uint32_t decay;
    static_assert(sizeof(decay) == sizeof(e.decay), "decay goes in bit by bit");
    memcpy(&decay, &e.decay, sizeof(decay));

    const uint32_t flags = e.vote_fused | e.vote_causal << 1 | e.vote_mean << 2;

    uint32_t res = 2166136261u; // FNV-1a
    for (const uint32_t word : { e.n_sink, e.vote_window, flags, decay }) {
        for (int shift = 0; shift < 32; shift += 8) {
            res = (res ^ (word >> shift & 0xff))*16777619u;
        }
    }
    return res != 0 ? res : 1;
}

std::string h2o_experiments_text(const h2o_experiments & e) {
    std::string res;

    const auto add = [&](bool is_on, const std::string & text) {
        if (is_on) {
            res += (res.empty() ? "" : ", ") + text;
        }
    };
    add(e.n_sink > 0,      format("sink = %u", e.n_sink));
    add(e.vote_window > 0, format("vote window = %u", e.vote_window));
    add(e.vote_fused,      "vote fused");
    add(e.vote_causal,     "vote causal");
    add(e.vote_mean,       "vote mean");
    add(e.decay != 1.0f,   format("decay = %g", e.decay));
    return res;
}

std::vector<float> h2o_causal_factors(const h2o_experiments & e, int64_t n_queries) {
    const int64_t n_voters = e.vote_window > 0 ? std::min<int64_t>(e.vote_window, n_queries) : n_queries;

    std::vector<float> res(n_queries);
    for (int64_t j = 0; j < n_queries; ++j) {
        const int64_t n_seeing = std::min(n_voters, n_queries - j);

        res[j] = std::min((float) n_voters/n_seeing, H2O_CAUSAL_MAX);
    }
    return res;
}

// the last n rows
static ggml_tensor * h2o_last_rows(ggml_context * ctx, ggml_tensor * t, int64_t n) {
    if (n == t->ne[1]) {
        return t;
    }
    return ggml_view_4d(ctx, t, t->ne[0], n, t->ne[2], t->ne[3], t->nb[1], t->nb[2], t->nb[3], (t->ne[1] - n)*t->nb[1]);
}

ggml_tensor * h2o_build_votes(ggml_context * ctx, const h2o_experiments & e, int64_t n_group, ggml_tensor * w, ggml_tensor * weight) {
    // rows are queries in order, with the group's heads inside
    const int64_t n_rows = e.vote_window > 0 ? std::min<int64_t>(e.vote_window*n_group, w->ne[1]) : w->ne[1];

    return ggml_out_prod(ctx, h2o_last_rows(ctx, w, n_rows), h2o_last_rows(ctx, weight, n_rows));
}

//
// h2o.h
//

bool h2o_set_experiments(llama_context * ctx, const h2o_experiments * experiments) {
    h2o_session         & h2o     = *ctx->h2o;
    const llama_cparams & cparams = ctx->get_cparams();

    h2o_experiments e = *experiments;
    e.n_sink = std::min(e.n_sink, cparams.h2o_heavy);

    const char * error = h2o_experiments_error(e, (h2o_schedule) cparams.h2o_schedule);
    if (error) {
        LLAMA_LOG_ERROR("%s: %s\n", __func__, error);
        return false;
    }
    if (h2o.has_call) {
        LLAMA_LOG_ERROR("%s: experiments must be set before the first decode: scores of two kinds would be mixed\n", __func__);
        return false;
    }
    if (h2o.reason != H2O_REASON_NONE || h2o.cache->get_experiments() == e) {
        return true;
    }

    const bool was_fused = h2o.cache->get_fused();

    h2o.cache->set_experiments(e);

    LLAMA_LOG_INFO("%s: %s\n", __func__, h2o_is_default(e) ? "none" : h2o_experiments_text(e).c_str());
    if (was_fused && !h2o.cache->get_fused()) {
        LLAMA_LOG_INFO("%s: votes are weighted by query, which the fused attention cannot: using a graph of stock ops\n", __func__);
    }

    h2o.n_nodes     = 0;
    h2o.size_sparse = 0;
    try {
        h2o_ask_reserve(*ctx);
        ctx->sched_reserve();
    } catch (const std::exception & err) {
        LLAMA_LOG_ERROR("%s: %s\n", __func__, err.what());
        return false;
    }
    return true;
}

h2o_experiments h2o_get_experiments(const llama_context * ctx) {
    return ctx->h2o->cache ? ctx->h2o->cache->get_experiments() : h2o_experiments_default();
}
