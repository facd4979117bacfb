#include "agreement.h"

#include "llama-context.h" // the scheduler

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>

const std::vector<agreement_case> & agreement_cases() {
    const h2o_schedule one = H2O_SCHEDULE_SINGLE_PASS;
    const h2o_schedule two = H2O_SCHEDULE_TWO_PASS;

    const h2o_policy_type votes = H2O_POLICY_VOTES;
    const h2o_policy_type query = H2O_POLICY_QUERY;

    static const std::vector<agreement_case> cases = {
        { "f32, -fa off",                    votes, GGML_TYPE_F32,  false, one, 0,  1e-4, 0.99 },
        { "f16, -fa on",                     votes, GGML_TYPE_F16,  true,  one, 0,  1e-4, 0.99 },
        { "f16, -fa off, tail of 50",        votes, GGML_TYPE_F16,  false, one, 50, 1e-4, 0.99 },
        { "f16, -fa on, tail of 1",          votes, GGML_TYPE_F16,  true,  one, 1,  1e-4, 0.99 },
        { "f16, two-pass, tail of 1",        votes, GGML_TYPE_F16,  true,  two, 1,  1e-4, 0.99 },
        // wider: a backend may round queries to the type of the keys, with fewer bits than F16 has
        { "bf16, -fa on",                    votes, GGML_TYPE_BF16, true,  one, 0,  2e-3, 0.97 },
        { "q8_0, -fa on",                    votes, GGML_TYPE_Q8_0, true,  one, 0,  2e-3, 0.97 },

        // a block's set is small: with one member that rounding has exchanged, the logits of its tokens differ
        { "query, f32, -fa off",             query, GGML_TYPE_F32,  false, one, 0,  1e-4, 0.99 },
        { "query, f16, -fa on, tail of 1",   query, GGML_TYPE_F16,  true,  one, 1,  2e-3, 0.99 },
        { "query, f16, -fa off, tail of 50", query, GGML_TYPE_F16,  false, one, 50, 2e-3, 0.99 },
        { "query, q8_0, -fa on",             query, GGML_TYPE_Q8_0, true,  one, 0,  2e-3, 0.97 },
        // a key that rounding has put on the other side of one of 16 steps
        { "query, q4_0, -fa on",             query, GGML_TYPE_Q4_0, true,  one, 0,  2e-2, 0.97 },
    };
    return cases;
}

namespace {

struct outcome {
    std::vector<float>                logits;
    std::vector<std::vector<int32_t>> sets;  // of every layer, chunk, block of queries and head
    std::vector<float>                votes; // that every chunk cast on itself; none by the policy query

    int  n_splits;
    bool is_sparse;
    bool is_fused;
};

}

static void give_up(const char * why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static llama_context * open_context(const agreement_setup & s, bool is_device, const agreement_case & c, bool h2o) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx           = s.n_chunks*s.n_chunk + c.n_tail + s.n_decoded;
    params.n_batch         = 4*s.n_chunk;
    params.n_ubatch        = s.n_chunk;
    params.flash_attn_type = c.flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.type_k          = c.type;
    params.type_v          = c.type;
    params.swa_full        = false; // windows in a cache of their own

    h2o_params sparse = h2o_default_params();
    sparse.n_local  = h2o ? s.n_local : 0;
    sparse.n_heavy  = h2o ? s.n_heavy : 0;
    sparse.policy   = c.policy;
    sparse.schedule = c.schedule;
    params.h2o = &sparse;

    llama_context * ctx = llama_init_from_model(is_device ? s.on_device : s.on_cpu, params);
    if (!ctx) {
        give_up("no context");
    }
    return ctx;
}

// the same tokens for every context
static outcome decode(llama_context * ctx, const agreement_setup & s, const agreement_case & c, bool trace) {
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)));

    std::mt19937 engine(1);
    const int n_prompt = s.n_chunks*s.n_chunk + c.n_tail;
    std::vector<llama_token> tokens(n_prompt + s.n_decoded);
    for (llama_token & token : tokens) {
        token = engine() % n_vocab;
    }

    llama_memory_clear(llama_get_memory(ctx), true);
    h2o_set_trace(ctx, trace ? H2O_TRACE_SETS : H2O_TRACE_OFF);

    outcome res;

    const auto call = [&](int pos, int n) {
        if (llama_decode(ctx, llama_batch_get_one(tokens.data() + pos, n)) != 0) {
            give_up("llama_decode failed");
        }
    };
    const auto keep_logits = [&]() {
        const float * logits = llama_get_logits_ith(ctx, -1);
        res.logits.insert(res.logits.end(), logits, logits + n_vocab);
    };

    const int n_batch = llama_n_batch(ctx);
    for (int pos = 0; pos < n_prompt; pos += n_batch) {
        call(pos, std::min(n_batch, n_prompt - pos));
        for (int i = 0; trace && i < h2o_trace_n(ctx); ++i) {
            h2o_trace t;
            h2o_get_trace(ctx, i, &t);
            for (int j = 0; j < t.n_sets*t.n_heads; ++j) {
                res.sets.emplace_back(t.mem_pos + j*t.n_mem, t.mem_pos + (j + 1)*t.n_mem);

                std::vector<int32_t> & set = res.sets.back();
                set.erase(std::unique(set.begin(), set.end()), set.end()); // a smaller one ends with repeats
            }
            if (t.chunk_score) {
                res.votes.insert(res.votes.end(), t.chunk_score, t.chunk_score + t.n_chunk*t.n_heads);
            }
        }
    }

    keep_logits();
    res.n_splits = ggml_backend_sched_get_n_splits(ctx->get_sched());

    h2o_call last;
    res.is_sparse = h2o_get_last_call(ctx, &last) && last.path == H2O_PATH_SPARSE;
    res.is_fused  = h2o_get_info(ctx).is_fused;

    for (int pos = n_prompt; pos < (int) tokens.size(); ++pos) {
        call(pos, 1);
        keep_logits();
    }
    return res;
}

static outcome decode_once(const agreement_setup & s, bool is_device, const agreement_case & c, bool h2o) {
    llama_context * ctx = open_context(s, is_device, c, h2o);
    const outcome res = decode(ctx, s, c, h2o);
    llama_free(ctx);
    return res;
}

static double nmse(const std::vector<float> & a, const std::vector<float> & b) {
    if (a.size() != b.size()) {
        return INFINITY; // one of them was not sparse
    }
    double err = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < a.size(); ++i) {
        err += (a[i] - b[i])*(a[i] - b[i]);
        sum += b[i]*b[i];
    }
    return err/sum;
}

// share of the members that both runs chose
static double overlap(const outcome & a, const outcome & b) {
    size_t n_all  = 0;
    size_t n_same = 0;
    for (size_t i = 0; i < std::min(a.sets.size(), b.sets.size()); ++i) {
        const std::vector<int32_t> & x = a.sets[i]; // ascending
        const std::vector<int32_t> & y = b.sets[i];

        std::vector<int32_t> both;
        std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
        n_same += both.size();
        n_all  += x.size();
    }
    return a.sets.size() == b.sets.size() && n_all > 0 ? (double) n_same/n_all : 0.0;
}

bool check_agreement(const agreement_setup & s, const agreement_case & c) {
    const outcome cpu = decode_once(s, false, c, true);

    llama_context * ctx = open_context(s, true, c, true);
    const outcome plain  = decode(ctx, s, c, false); // without tracing, which copies to the host
    const outcome first  = decode(ctx, s, c, true);
    const outcome second = decode(ctx, s, c, true);
    llama_free(ctx);

    const outcome dense_cpu = decode_once(s, false, c, false);
    const outcome dense     = decode_once(s, true,  c, false);

    const double err    = nmse(first.logits, cpu.logits);
    const double base   = nmse(dense.logits, dense_cpu.logits);
    const double voted  = c.policy == H2O_POLICY_QUERY ? 0.0 : nmse(first.votes, cpu.votes);
    const double same   = overlap(first, cpu);
    const bool   repeat = first.logits == second.logits && first.sets == second.sets && first.votes == second.votes;

    const bool ok = cpu.is_sparse && plain.is_sparse && plain.is_fused && err <= std::max(c.max_nmse, 2*base) && voted <= c.max_nmse && same >= c.min_same &&
        repeat && plain.n_splits <= dense.n_splits;

    printf("%-4s %-31s logits NMSE %.1e (dense %.1e), votes %.1e, same members %.2f %%, repeats %s, sparse %s, fused %s, splits %d (dense %d)\n",
            ok ? "ok" : "FAIL", c.name, err, base, voted, 100*same, repeat ? "yes" : "no",
            plain.is_sparse ? "yes" : "no", plain.is_fused ? "yes" : "no", plain.n_splits, dense.n_splits);
    return ok;
}
