// Dense calls on the exact kernel: which calls take it, what the graph makes of it beside stock's
// attention of the same context, and that truncating, restoring and aborting between calls change nothing.

#include "test-context.h"
#include "suite.h"
#include "testing.h"

#include <climits>

static const int S = 96;

static test_context_params params_of(bool flash_attn) {
    test_context_params params = test_context_params().small();
    params.n_chunk    = S;
    params.flash_attn = flash_attn;
    params.capture    = false;
    return params;
}

static test_context_params with_stock(test_context_params params) {
    params.upstream_products = true;
    return params;
}

// which calls take the kernel, what is counted, and that a graph serves the next call as stock's does
static void test_calls(const tiny_model & model) {
    test_context ctx(model, params_of(false)), off(model, params_of(false).off()), stock(model, with_stock(params_of(false)));

    for (const int n : { 1, 2, 64, 65, 1, 2*S + 1, 3 }) {
        for (test_context * c : { &ctx, &off, &stock }) {
            c->decode(tiny_prompt(n));
            CHECK(c->call().is_exact == (c == &ctx && n <= S));
        }
    }
    CHECK(h2o_get_exact_count(ctx.get()).n_calls == 6 && h2o_get_exact_count(ctx.get()).n_tokens == 1 + 2 + 64 + 65 + 1 + 3);
    CHECK(h2o_get_exact_count(off.get()).n_calls == 0 && h2o_get_exact_count(stock.get()).n_calls == 0);

    for (test_context * c : { &ctx, &off }) {
        c->clear();
        llama_perf_context_reset(c->get());
        for (int i = 0; i < 20; ++i) {
            c->decode(tiny_prompt(1, i));
        }
    }
    CHECK(llama_perf_context(ctx.get()).n_reused == llama_perf_context(off.get()).n_reused);
    CHECK(llama_perf_context(ctx.get()).n_reused >= 18);
}

// dense calls of whole chunks and of one token, with graphs that serve the next one
static void test_small_chunks(const tiny_model & model) {
    test_context_params params = params_of(false);
    params.n_chunk = 32;

    test_context ctx(model, params), stock(model, with_stock(params));

    for (test_context * c : { &ctx, &stock }) {
        llama_set_causal_attn(c->get(), true);
        c->decode(tiny_prompt(3*32));
        c->truncate(40); // cells stay in place, so what follows is sparse again unless its tokens fit into a chunk
    }
    for (const int n : { 32, 1, 32 }) {
        for (test_context * c : { &ctx, &stock }) {
            c->decode(tiny_prompt(n));
        }
        CHECK(ctx.call().is_exact && nmse(stock.logits(), ctx.logits()) < 1e-9);
    }
}

// beside stock's attention over the same cache: all that a cache may be
static void test_types(const tiny_model & model) {
    for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1 }) {
        for (const bool flash_attn : { false, true }) {
            if (!flash_attn && ggml_is_quantized(type)) {
                continue; // refused by upstream
            }
            test_context_params params = params_of(flash_attn);
            params.type_kv  = type;
            params.swa_full = false; // window caches are rings
            params.n_heavy  = 1024;  // of the sparse call: all positions, so that no rounding changes a set

            test_context ctx(model, params), stock(model, with_stock(params));

            // stock rounds queries to the type of the cache, and with flash attention sums values in F16
            const double limit = type == GGML_TYPE_F32 && !flash_attn ? 1e-9 : ggml_is_quantized(type) || type == GGML_TYPE_BF16 ? 1e-2 : 1e-4;

            for (const int n : { 90, 1, 1, 7, 64, 33, 3*S + 5, 1, 20 }) {
                for (test_context * c : { &ctx, &stock }) {
                    c->decode(tiny_prompt(n, n));
                }
                CHECK(ctx.call().is_exact == (n <= S) && !stock.call().is_exact);
                CHECK(nmse(stock.logits(), ctx.logits()) < limit);
            }
        }
    }
}

// random calls, some of them aborted, some cut off again, with states put back in between: always near to stock's over the
// same positions, and to the bit what a context says that only ever saw the calls that stayed
static void test_fuzz(const tiny_model & model, int seed) {
    test_random rnd;
    rnd.engine.seed(seed);

    test_context_params params = params_of(seed % 2);
    params.n_threads = 1 + seed % 3;

    test_context ctx(model, params), stock(model, with_stock(params));

    std::vector<std::vector<llama_token>> calls; // that stayed whole

    for (int step = 0; step < 30; ++step) {
        const int n = rnd.integer(0, 1) ? rnd.integer(1, 3) : rnd.integer(1, 64);
        if (ctx.n_pos() + n > params.n_ctx - 4) {
            break;
        }
        const std::vector<llama_token> tokens = tiny_prompt(n, 1000*seed + step);

        switch (rnd.integer(0, 5)) {
            case 0: // as if it had not been
                ctx.decode_aborted(tiny_prompt(n, -step), rnd.integer(0, 20));
                break;
            case 1: { // decoded and cut off
                const int n_pos = ctx.n_pos();
                ctx.decode(tiny_prompt(n, -step));
                ctx.truncate(n_pos);
                break;
            }
            case 2: { // left and come back to
                const std::vector<uint8_t> saved = ctx.save();
                ctx.clear();
                ctx.decode(tiny_prompt(n, -step));
                if (saved.size() > 100 && !calls.empty()) {
                    ctx.restore(saved);
                } else {
                    ctx.clear();
                }
                break;
            }
            default: break;
        }

        for (test_context * c : { &ctx, &stock }) {
            c->decode(tokens);
        }
        calls.push_back(tokens);

        CHECK(ctx.call().is_exact && ctx.n_pos() == stock.n_pos());
        CHECK(nmse(stock.logits(), ctx.logits()) < (params.flash_attn ? 1e-4 : 1e-9));
    }

    test_context straight(model, params);
    for (const auto & tokens : calls) {
        straight.decode(tokens);
    }
    CHECK(straight.logits() == ctx.logits());
}

static const suite cases("exact", [](suite & s) {
    s.add("calls",        [] { test_calls(tiny_model()); });
    s.add("small chunks", [] { test_small_chunks(tiny_model()); });

    for (const auto & [n_head, n_head_kv, d_head] : { std::tuple(4, 4, 32), std::tuple(8, 1, 64), std::tuple(6, 2, 80) }) {
        tiny_model_params shape;
        shape.n_head    = n_head;
        shape.n_head_kv = n_head_kv;
        shape.d_head    = d_head;
        shape.n_embd    = n_head*d_head;

        const std::string heads = std::to_string(n_head) + " heads of " + std::to_string(n_head_kv);
        s.add("calls, "        + heads, [=] { test_calls(tiny_model(shape)); });
        s.add("random calls, " + heads, [=] { test_fuzz(tiny_model(shape), shape.d_head); });
    }
    s.add("random calls", [] {
        const tiny_model model;
        for (int seed = 1; seed <= 6; ++seed) {
            test_fuzz(model, seed);
        }
    });
    for (const char * arch : { "llama", "gemma3" }) { // the second has layers with windows
        tiny_model_params shape;
        shape.arch   = arch;
        shape.d_head = 32; // whole blocks of quantised types
        shape.n_embd = 128;
        s.add(std::string("types of caches, ") + arch, [=] { test_types(tiny_model(shape)); });
    }
});
