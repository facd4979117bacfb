// Boundaries, and the path that a call takes there; what comes out of it is in test/engine. Prompts of N = S, S + 1, 2S - 1,
// 2S, 2S + 128 and 3500 tokens at S = 1024, every length around small chunks, tails shorter than L, the smallest and largest memory, calls that begin anywhere, a call that is aborted, and
// calls that H2O does not serve.

#include "testing.h"
#include "ways.h"

#include <algorithm>
#include <climits>
#include <cmath>

static void check_finite(const std::vector<float> & data) {
    for (const float x : data) {
        CHECK(std::isfinite(x));
    }
}

// one prompt in one call: the path it must take, chunk by chunk; a prompt of one chunk is stock's: bit for bit with its
// products, else near to it
static void test_length(const tiny_model & model, const test_context_params & params, int n) {
    const int S = params.n_chunk;

    test_context ctx(model, params);
    ctx.decode(tiny_prompt(n, n));
    check_finite(ctx.logits());

    const h2o_call                call  = ctx.call();
    const std::vector<test_trace> trace = ctx.trace();

    CHECK(call.n_inherited == 0);

    if (n <= S) {
        CHECK(call.path == H2O_PATH_DENSE && call.reason == H2O_REASON_ONE_CHUNK && call.n_chunks == 0);
        CHECK(ctx.n_passes() == 1);
        CHECK(trace.empty());

        test_context_params with_stock = params;
        with_stock.upstream_products = true;

        test_context stock(model, params.off()), equal(model, with_stock);
        for (test_context * c : { &stock, &equal }) {
            c->decode(tiny_prompt(n, n));
        }
        CHECK(stock.call().reason == H2O_REASON_OFF);
        CHECK(stock.logits() == equal.logits());
        CHECK(nmse(stock.logits(), ctx.logits()) < 1e-9);
        return;
    }

    CHECK(call.path == H2O_PATH_SPARSE && call.reason == H2O_REASON_NONE);
    CHECK(call.n_chunks == (n + S - 1)/S);

    // the second pass has queries of its own above the first layer
    const bool is_two_pass = params.schedule == H2O_SCHEDULE_TWO_PASS;
    CHECK(ctx.n_passes() == (is_two_pass ? 2 : 1));
    CHECK((ctx.q(1) != ctx.q_intra(1)) == is_two_pass && nmse(ctx.q_intra(0), ctx.q(0)) < 1e-10);

    for (const test_trace & t : trace) {
        CHECK(t.n_chunk == std::min(S, n - t.pos));

        // none for chunk 0; by query Local is no part of the set
        const int n_near = params.policy == H2O_POLICY_QUERY ? std::min(t.pos, params.n_local) : 0;
        CHECK(t.n_mem == std::min(t.pos, params.n_local + params.n_heavy) - n_near);
        check_finite(t.mem_score);
        check_finite(t.chunk_score);
    }
}

static tiny_model_params small_heads() {
    tiny_model_params res;
    res.n_head    = 2;
    res.n_head_kv = 1;
    res.d_head    = 8;
    res.n_embd    = 32;
    res.n_ff      = 32;
    return res;
}

static void test_lengths_1024(const tiny_model & model, test_context_params params) {
    params.n_chunk = 1024;
    params.n_local = 256;
    params.n_heavy = 256;
    params.n_batch = 4096;
    params.n_ctx   = 4096;

    const int S = params.n_chunk;

    // the composed graph has its say at the small chunks
    const std::vector<int> lengths = params.fused
        ? std::vector<int>({ 100, S, S + 1, 2*S - 1, 2*S, 2*S + 128, 3500 })
        : std::vector<int>({ 2*S + 128 });

    for (const int n : lengths) {
        test_length(model, params, n);
    }
}

static void test_lengths_small(const tiny_model & model, test_context_params params) {
    params.n_chunk = 16;
    params.n_local = 5;
    params.n_heavy = 6;

    for (int n = 1; n <= 3*params.n_chunk + 1; ++n) {
        test_length(model, params, n);
    }

    // 100 chunks and one token
    params.n_ctx   = 2048;
    params.n_batch = 2048;
    test_length(model, params, 100*params.n_chunk + 1);
}

// L + H from 1 to S - 1, and what asks for more: by votes it is cut
static void test_budgets(const tiny_model & model, test_context_params params) {
    const int S = params.n_chunk;

    for (const auto & [l, h] : { std::pair(1, 0), std::pair(0, 1), std::pair(S - 1, 0), std::pair(0, S - 1), std::pair(S/2, S/2 - 1) }) {
        params.n_local = l;
        params.n_heavy = h;
        test_length(model, params, 4*S + 3);
    }
    for (const auto & [l, h, l_used, h_used] : { std::tuple(S, S, S - 1, 0), std::tuple(S/2, S, S/2, S/2 - 1), std::tuple(0, 4*S, 0, S - 1) }) {
        params.n_local = l;
        params.n_heavy = h;

        const int h_kept = params.policy == H2O_POLICY_QUERY ? h : h_used;

        test_context ctx(model, params);
        CHECK(h2o_get_info(ctx.get()).n_local == (uint32_t) l_used && h2o_get_info(ctx.get()).n_heavy == (uint32_t) h_kept);
    }
}

// calls of these lengths in a row: short ones are dense and leave the state alone, long ones go on from it, wherever
// they begin: before L positions, before L + H, in a tail shorter than L, inside one block of 256 cells
static void test_calls(const tiny_model & model, test_context_params params, const std::vector<int> & lengths) {
    params.n_ctx = std::max(params.n_ctx, 24*params.n_chunk);

    test_context ctx(model, params);

    int  pos       = 0;
    bool was_sparse = false;

    for (const int n : lengths) {
        ctx.decode(tiny_prompt(n, pos + n));
        check_finite(ctx.logits());

        const bool is_sparse = n > params.n_chunk;

        CHECK(ctx.call().path == (is_sparse ? H2O_PATH_SPARSE : H2O_PATH_DENSE));
        CHECK(ctx.call().n_inherited == (is_sparse ? params.n_inherited(pos, was_sparse) : 0));

        was_sparse = was_sparse || is_sparse;
        pos += n;
    }
}

// the same calls with and without graphs that run again
static void test_graph_reuse(const tiny_model & model, test_context_params params) {
    params.capture = false;

    const int S = params.n_chunk;

    std::vector<std::vector<float>> first;

    for (const bool disabled : { false, true }) {
        test_set_env("LLAMA_GRAPH_REUSE_DISABLE", disabled ? "1" : nullptr);
        test_context ctx(model, params);
        std::vector<std::vector<float>> logits;

        for (int i = 0; i < 3; ++i) {
            for (const int n : { S + 8, S + 8, S + 8, S + 1, 1, S + 8, S + 8 }) {
                ctx.decode(tiny_prompt(n, 100*i + n));
                logits.push_back(ctx.logits());
            }
            ctx.clear();
        }
        if (disabled) {
            CHECK(logits == first);
        }
        first = logits;
    }
    test_set_env("LLAMA_GRAPH_REUSE_DISABLE", nullptr);
}

// a call that is aborted did not happen: the context holds whole calls, and goes on as if nothing had been; wherever it
// was aborted, between the phases too
static void test_abort(const tiny_model & model, test_context_params params) {
    params.capture = false;

    const int S = params.n_chunk;

    const std::vector<llama_token> first  = tiny_prompt(3*S + 4, 1);
    const std::vector<llama_token> second = tiny_prompt(4*S + 9, 2);

    test_abort_after never = { INT_MAX };

    test_context whole(model, params);
    whole.decode(first);
    llama_set_abort_callback(whole.get(), test_abort_after::is_over, &never);
    whole.decode(second);

    const int n_asked = INT_MAX - never.n_left;
    CHECK(n_asked > 50);

    for (const int n_nodes : { 0, 1, n_asked/4, n_asked/3, n_asked/2, 2*n_asked/3, n_asked - 1 }) {
        test_context ctx(model, params);
        ctx.decode(first);

        ctx.decode_aborted(tiny_prompt(4*S + 9, 3), n_nodes);
        ctx.decode(second);
        CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.call().n_inherited == 24);
        CHECK(ctx.logits() == whole.logits());
    }
}

// calls that are no causal sequence of tokens at consecutive positions are stock's, and say why
static void test_refused_calls(const tiny_model & model, test_context_params params) {
    params.capture = false;
    params.upstream_products = true;

    const int n = 3*params.n_chunk;

    enum refused { EMBEDDINGS, NON_CAUSAL, POSITIONS };

    for (const auto & [what, reason] : {
            std::pair(EMBEDDINGS, H2O_REASON_EMBEDDING_INPUT),
            std::pair(NON_CAUSAL, H2O_REASON_NON_CAUSAL),
            std::pair(POSITIONS,  H2O_REASON_POSITIONS_NOT_CONSECUTIVE) }) {
        const auto run = [&, what = what](const test_context_params & params) {
            test_context ctx(model, params);

            const int n_embd   = what == EMBEDDINGS ? model.params.n_embd : 0;
            const int n_tokens = what == NON_CAUSAL ? params.n_chunk : n; // upstream takes no more

            llama_set_causal_attn(ctx.get(), what != NON_CAUSAL);

            llama_batch batch = llama_batch_init(n_tokens, n_embd, 1);
            batch.n_tokens = n_tokens;

            const std::vector<llama_token> tokens = tiny_prompt(n_tokens);
            for (int i = 0; i < n_tokens; ++i) {
                for (int j = 0; j < n_embd; ++j) {
                    batch.embd[i*n_embd + j] = std::sin(i*n_embd + j);
                }
                if (!n_embd) {
                    batch.token[i] = tokens[i];
                }
                batch.pos[i]       = what == POSITIONS && i >= n/2 ? i - 1 : i; // one of them twice
                batch.n_seq_id[i]  = 1;
                batch.seq_id[i][0] = 0;
                batch.logits[i]    = true;
            }
            CHECK(llama_decode(ctx.get(), batch) == 0);
            llama_batch_free(batch);

            return std::pair(ctx.call(), ctx.logits());
        };

        const auto [call, logits] = run(params);

        CHECK(call.path == H2O_PATH_DENSE && call.reason == reason);
        CHECK(logits == run(params.off()).second);
    }
}

// query has one schedule: with the other a context is stock's, and says why
static void test_refused_schedule(const tiny_model & model, test_context_params params) {
    params.schedule = H2O_SCHEDULE_TWO_PASS;

    const auto run = [&](const test_context_params & params, h2o_reason reason) {
        test_context ctx(model, params);
        CHECK(h2o_get_info(ctx.get()).reason == reason && !h2o_has_memory(ctx.get(), 0));

        ctx.decode(tiny_prompt(3*params.n_chunk));
        CHECK(ctx.call().path == H2O_PATH_DENSE && ctx.call().reason == reason && ctx.trace().empty());
        return ctx.logits();
    };
    CHECK(run(params, H2O_REASON_UNSUPPORTED_SCHEDULE) == run(params.off(), H2O_REASON_OFF));
}

static void test_all_calls(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    test_calls(model, params, { 3, 3*S });                        // p < L
    test_calls(model, params, { 12, S + 1, 2*S + 1 });            // L < p < L + H
    test_calls(model, params, { S - 1, 1, 1, 2*S });
    test_calls(model, params, { 2*S + 3, 2*S + 5, S + 1 });       // tails shorter than L
    test_calls(model, params, { 2*S + 1, 1, 1, 2*S + 1, S + 8 }); // decoding in between, fewer than L and more
    test_calls(model, params, { 4*S, 20, 20, 3*S });
    test_calls(model, params, { 3*S + 4, 3*S + 4, S + 8, 6*S + 8, 9*S + 12 });
    test_calls(model, params, { S, S, S, S + 1 });
}

static const suite cases("edge-cases", [](suite & s) {
    add_in_ways(s, "two-pass refused", test_refused_schedule, {}, test_query_ways());
    add_in_ways(s, "lengths of 1024",  test_lengths_1024, small_heads());
    add_in_ways(s, "lengths of 16",    test_lengths_small);
    add_in_ways(s, "budgets",          test_budgets);
    add_in_ways(s, "calls in a row",   test_all_calls);
    add_in_ways(s, "graphs run again", test_graph_reuse);
    add_in_ways(s, "an aborted call",  test_abort);
    add_in_ways(s, "calls refused",    test_refused_calls);
});
