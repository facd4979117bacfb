// Sparse decoding in contexts: which calls take it and why others do not, how near it comes to reading everything, and that its
// index never is stale: after calls, aborts, cuts and restored states every call gives to the bit what it gives in a context that
// makes the index anew.

#include "test-context.h"
#include "suite.h"
#include "testing.h"

#include "ops/ggml-h2o.h"

static const int S = 96;

static test_context_params params_of(int n_decode, bool flash_attn = true) {
    test_context_params params;
    params.n_batch    = 10*S;
    params.n_chunk    = S;
    params.flash_attn = flash_attn;
    params.n_decode   = n_decode;
    params.capture    = false;
    return params;
}

static h2o_info info_of(const test_context & ctx) { return h2o_get_info(ctx.get()); }

// which calls, why not the others, and what is counted
static void test_calls(const tiny_model & model) {
    test_context ctx(model, params_of(8));

    CHECK(info_of(ctx).n_decode == 8 && info_of(ctx).decode_reason == H2O_REASON_NONE);

    const auto decode = [&](int n) {
        ctx.decode(tiny_prompt(n, n));
        return ctx.call();
    };
    const auto is_dense = [](const h2o_call & call, h2o_reason reason) {
        return call.n_decode == 0 && call.decode_reason == reason && call.is_exact;
    };

    // 447 positions are page 0, one page of candidates and the last 256 and more: as many candidates as 8 times 8
    CHECK(is_dense(decode(90), H2O_REASON_MANY_TOKENS));
    CHECK(is_dense(decode(1), H2O_REASON_FEW_POSITIONS));
    CHECK(decode(3*S).path == H2O_PATH_SPARSE);
    CHECK(is_dense(decode(64), H2O_REASON_MANY_TOKENS));
    CHECK(ctx.n_pos() == 443 && is_dense(decode(4), H2O_REASON_FEW_POSITIONS)); // sees 447

    const h2o_call first = decode(1);
    CHECK(first.n_decode == 8 && first.decode_reason == H2O_REASON_NONE && !first.is_exact && first.reason == H2O_REASON_ONE_CHUNK);
    CHECK(decode(8).n_decode == 8);
    CHECK(is_dense(decode(9), H2O_REASON_MANY_TOKENS));
    CHECK(h2o_get_decode_count(ctx.get()).n_calls == 2 && h2o_get_decode_count(ctx.get()).n_tokens == 9);

    // from call to call
    CHECK(h2o_set_decode(ctx.get(), 0) && is_dense(decode(1), H2O_REASON_OFF));
    CHECK(h2o_set_decode(ctx.get(), 15) && decode(1).n_decode == 15);
    CHECK(h2o_set_decode(ctx.get(), 16) && is_dense(decode(1), H2O_REASON_FEW_POSITIONS));
    CHECK(h2o_set_decode(ctx.get(), H2O_AUTO) && info_of(ctx).n_decode == H2O_AUTO);
    CHECK(is_dense(decode(1), H2O_REASON_FEW_POSITIONS));
    CHECK(h2o_set_decode(ctx.get(), UINT32_MAX - 1) && is_dense(decode(1), H2O_REASON_FEW_POSITIONS));

    // a graph serves as many tokens as stock's does, also those that complete a page
    test_context off(model, params_of(0).off());
    off.decode(tiny_prompt(600));
    ctx.clear();
    ctx.decode(tiny_prompt(600));
    CHECK(h2o_set_decode(ctx.get(), 16));
    for (test_context * c : { &ctx, &off }) {
        llama_perf_context_reset(c->get());
        for (int i = 0; i < 150; ++i) {
            c->decode(tiny_prompt(1, i));
        }
    }
    CHECK(ctx.call().n_decode == 16);
    CHECK(llama_perf_context(ctx.get()).n_reused == llama_perf_context(off.get()).n_reused);
    CHECK(llama_perf_context(ctx.get()).n_reused >= 145);
}

// as many keys as stay near to all, by group and length
static void test_auto() {
    CHECK(h2o_decode_among(0, 2, 1 << 20) == 0 && h2o_decode_among(7, 8, 1 << 20) == 7);
    CHECK(h2o_decode_among(H2O_AUTO, 1, 5000)  == 512);
    CHECK(h2o_decode_among(H2O_AUTO, 3, 16448) == 1024 && h2o_decode_among(H2O_AUTO, 3, 32768) == 2048);
    CHECK(h2o_decode_among(H2O_AUTO, 4, 5000)  == 0    && h2o_decode_among(H2O_AUTO, 8, 1 << 20) == 0);

    const auto call_behind = [](int n_head, int n_pos, uint32_t n_decode) {
        tiny_model_params mparams;
        mparams.n_layer   = 1;
        mparams.n_head    = n_head;
        mparams.n_head_kv = 1;
        mparams.d_head    = 32;
        mparams.n_embd    = n_head*mparams.d_head;

        test_context_params params = params_of(1);
        params.n_ctx   = 10240;
        params.n_batch = params.n_ctx;

        const tiny_model model(mparams);
        test_context     ctx(model, params);
        CHECK(info_of(ctx).n_group == (uint32_t) n_head);
        CHECK(h2o_set_decode(ctx.get(), n_decode));
        ctx.decode(tiny_prompt(n_pos - 1));
        ctx.decode(tiny_prompt(1));
        return ctx.call();
    };
    // 4096 candidates are too few; of 9920 it is a sixteenth
    CHECK(call_behind(3, 4096 + 64 + 256,      H2O_AUTO).decode_reason == H2O_REASON_FEW_POSITIONS);
    CHECK(call_behind(3, 4096 + 64 + 256 + 64, H2O_AUTO).n_decode      == 512);
    CHECK(call_behind(3, 9920 + 64 + 256,      H2O_AUTO).n_decode      == 576);
    CHECK(call_behind(4, 4096 + 64 + 256 + 64, H2O_AUTO).decode_reason == H2O_REASON_OFF);
    CHECK(call_behind(4, 4096 + 64 + 256 + 64, 512).n_decode           == 512);

    // no index where it would not be used
    tiny_model_params mparams;
    mparams.n_head    = 4;
    mparams.n_head_kv = 1;
    mparams.n_embd    = 4*mparams.d_head;
    const tiny_model large(mparams);
    const h2o_info   made = info_of(test_context(large, params_of(H2O_AUTO)));
    CHECK(made.n_decode == 0 && made.decode_reason == H2O_REASON_OFF);
    CHECK(made.size_index == info_of(test_context(large, params_of(0))).size_index);
}

// an index where it is wanted and can serve, and a reason elsewhere
static void test_contexts(const tiny_model & model) {
    test_context none(model, params_of(0)), some(model, params_of(16)), off(model, params_of(16).off());

    test_context_params stock = params_of(16);
    stock.upstream_products = true;
    test_context products(model, stock);

    test_context_params votes = params_of(16);
    votes.policy = H2O_POLICY_VOTES;
    test_context by_votes(model, votes);

    const int n_pages = 2048/64;
    CHECK(info_of(some).size_index - info_of(none).size_index ==
            model.params.n_layer*model.params.n_head_kv*n_pages*ggml_h2o_signs_size(model.params.d_head));
    CHECK(info_of(by_votes).size_index == info_of(some).size_index - info_of(none).size_index);

    const auto is_refused = [](test_context & ctx, h2o_reason reason) {
        const h2o_info info = info_of(ctx);
        return info.n_decode == 0 && info.decode_reason == reason && !h2o_set_decode(ctx.get(), 1) &&
            !h2o_set_decode(ctx.get(), H2O_AUTO) && h2o_set_decode(ctx.get(), 0);
    };
    CHECK(is_refused(none, H2O_REASON_OFF));
    CHECK(is_refused(off, H2O_REASON_OFF) && info_of(off).size_index == 0);
    CHECK(is_refused(products, H2O_REASON_UNSUPPORTED_CONTEXT) && info_of(products).size_index == info_of(none).size_index);
}

// beside reading all of it: the nearer the more keys
static void test_nearness(const tiny_model & model, const test_context_params & like) {
    test_context ctx(model, like);

    ctx.decode(tiny_prompt(900));
    const auto next = [&](uint32_t n) {
        CHECK(h2o_set_decode(ctx.get(), n));
        ctx.decode(tiny_prompt(5, 7));
        CHECK(ctx.call().n_decode == (int32_t) n && ctx.call().is_exact == (n == 0));

        const std::vector<float> logits = ctx.logits();
        ctx.truncate(900);
        return logits;
    };
    const std::vector<float> all = next(0), most = next(71), few = next(4);

    const double near = nmse(all, most);
    CHECK(near < 0.1 && nmse(all, few) > near);
    CHECK(next(0) == all && next(71) == most && next(4) == few);
}

// cells that are not those of their positions are read as a whole
static void test_holes(const tiny_model & model) {
    test_context ctx(model, params_of(16));
    ctx.decode(tiny_prompt(900));
    ctx.decode(tiny_prompt(1));
    CHECK(ctx.call().n_decode == 16);

    CHECK(llama_memory_seq_rm(ctx.memory(), 0, 700, 710));
    ctx.decode(tiny_prompt(1));
    CHECK(ctx.call().n_decode == 0 && ctx.call().decode_reason == H2O_REASON_KV_NOT_CONTIGUOUS && ctx.call().is_exact);

    ctx.truncate(700);
    ctx.decode(tiny_prompt(1));
    CHECK(ctx.call().n_decode == 16);
}

// what upstream reserves behind a call of one token is a graph of a whole ubatch, and not that call's
static void test_reserve(const tiny_model & model) {
    test_context ctx(model, params_of(16));
    ctx.decode(tiny_prompt(900));
    ctx.decode(tiny_prompt(1));
    CHECK(ctx.call().n_decode == 16);

    // a context shift turns the keys in the next call, and reserves again
    CHECK(llama_memory_seq_rm(ctx.memory(), 0, 100, 200));
    llama_memory_seq_add(ctx.memory(), 0, 200, -1, -100);
    ctx.decode(tiny_prompt(1));
    CHECK(ctx.n_pos() == 802 && ctx.call().n_decode == 0 && ctx.call().decode_reason == H2O_REASON_KV_NOT_CONTIGUOUS);
}

static void test_fuzz(const tiny_model & model, int seed, h2o_policy_type policy = H2O_POLICY_QUERY) {
    test_random rnd;
    rnd.engine.seed(seed);

    test_context_params params = params_of(16, seed % 2);
    params.n_threads = 1 + seed % 3;
    params.type_kv   = seed % 3 == 0 ? GGML_TYPE_F16 : GGML_TYPE_F32;
    params.policy    = policy;

    test_context ctx(model, params), anew(model, params);

    const bool has_windows = model.params.arch == "gemma3";

    const auto any_length = [&] { return rnd.integer(0, 9) == 0 ? rnd.integer(S + 1, 3*S) : rnd.integer(0, 1) ? rnd.integer(1, 3) : rnd.integer(1, 40); };

    int n_sparse = 0;

    ctx.decode(tiny_prompt(rnd.integer(500, 900), seed));
    for (int step = 0; step < 60; ++step) {
        const int n = any_length();
        if (ctx.n_pos() + n > params.n_ctx - 200) {
            ctx.truncate(rnd.integer(450, 1000));
        }
        if (has_windows && step % 8 == 0) { // whose cells may stay out of order
            ctx.clear();
            ctx.decode(tiny_prompt(600, seed + step));
        }

        switch (rnd.integer(0, 5)) {
            case 0:
                ctx.decode_aborted(tiny_prompt(rnd.integer(1, 4), -step), rnd.integer(0, 20));
                break;
            case 1: // cut off, and other tokens in their place
                ctx.truncate(ctx.n_pos() - rnd.integer(1, 200));
                ctx.decode(tiny_prompt(any_length(), -step));
                break;
            case 2: { // left and come back to
                const std::vector<uint8_t> saved = ctx.save();
                ctx.clear();
                ctx.decode(tiny_prompt(600, -step));
                ctx.decode(tiny_prompt(1, -step));
                ctx.restore(saved);
                break;
            }
            default: break;
        }

        const std::vector<uint8_t>     saved  = ctx.save();
        const std::vector<llama_token> tokens = tiny_prompt(n, 1000*seed + step);
        const int                      n_pos  = ctx.n_pos();

        ctx.decode(tokens);
        n_sparse += ctx.call().n_decode > 0;

        if (!has_windows) {
            anew.restore(saved);
            anew.decode(tokens);
            CHECK(ctx.call().n_decode == anew.call().n_decode && ctx.logits() == anew.logits());
        } else if (ctx.call().n_decode > 0) { // a restored window lies in other cells, and sums are in another order
            const std::vector<float> logits = ctx.logits();
            ctx.truncate(n_pos);
            h2o_reset_memory(ctx.get(), -1);
            ctx.decode(tokens);
            CHECK(ctx.logits() == logits);
        }
    }
    CHECK(n_sparse > 15);
}

static const suite cases("sparse-decode", [](suite & s) {
    s.add("calls",    [] { test_calls(tiny_model()); });
    s.add("auto",     test_auto);
    s.add("contexts", [] { test_contexts(tiny_model()); });
    s.add("holes",    [] { test_holes(tiny_model()); });
    s.add("reserve",  [] { test_reserve(tiny_model()); });

    s.add("nearness", [] {
        const tiny_model model;
        for (const bool flash_attn : { false, true }) {
            test_nearness(model, params_of(16, flash_attn));
        }
    });
    for (const auto & [n_head, n_head_kv, d_head] : { std::tuple(4, 4, 32), std::tuple(8, 1, 64), std::tuple(6, 2, 80) }) {
        tiny_model_params shape;
        shape.n_head    = n_head;
        shape.n_head_kv = n_head_kv;
        shape.d_head    = d_head;
        shape.n_embd    = n_head*d_head;

        const std::string heads = std::to_string(n_head) + " heads of " + std::to_string(n_head_kv);
        s.add("nearness, "            + heads, [=] { test_nearness(tiny_model(shape), params_of(16)); });
        s.add("random calls, "        + heads, [=] { test_fuzz(tiny_model(shape), shape.d_head); });
        s.add("random calls, votes, " + heads, [=] { test_fuzz(tiny_model(shape), shape.d_head, H2O_POLICY_VOTES); }, TEST_WAYS);
    }
    s.add("random calls", [] {
        const tiny_model model;
        for (int seed = 1; seed <= 3; ++seed) {
            test_fuzz(model, seed);
        }
    });
    s.add("random calls, votes", [] { test_fuzz(tiny_model(), 4, H2O_POLICY_VOTES); }, TEST_WAYS);

    tiny_model_params windows; // which are read as ever
    windows.arch = "gemma3";
    s.add("nearness, windows",     [=] { test_nearness(tiny_model(windows), params_of(16)); });
    s.add("random calls, windows", [=] { test_fuzz(tiny_model(windows), 5); });
});
