// Attention inside a chunk, in whole models: it is blind to the future and to other chunks, K has RoPE at absolute
// positions, and K and V are written once, where they belong.

#include "testing.h"
#include "ways.h"

#include <algorithm>
#include <tuple>

static std::vector<float> logits_of(const tiny_model & model, const test_context_params & params, const std::vector<llama_token> & prompt) {
    test_context ctx(model, params);
    ctx.decode(prompt);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);
    return ctx.logits();
}

// another token at j changes what is at j, and not one bit before the first of n_together that are chosen for together
static void test_change(const tiny_model & model, const test_context_params & params, int n_together) {
    const int S = params.n_chunk;

    const std::vector<llama_token> prompt = tiny_prompt(3*S + 9);
    const std::vector<float>       logits = logits_of(model, params, prompt);

    for (const int j : { 1, 17, S - 1, S, S + 1, 2*S - 1, 2*S, 3*S - 1, 3*S, 3*S + 8 }) {
        std::vector<llama_token> changed = prompt;
        changed[j] = (changed[j] + 1) % 256;

        const std::vector<float> other = logits_of(model, params, changed);
        const int n       = model.params.n_vocab;
        const int n_equal = j/n_together*n_together;

        CHECK( std::equal(logits.begin(),         logits.begin() + n_equal*n, other.begin()));
        CHECK(!std::equal(logits.begin() + j*n,   logits.begin() + (j + 1)*n, other.begin() + j*n));
    }
}

static void test_no_future(const tiny_model & model, test_context_params params) {
    if (params.policy == H2O_POLICY_QUERY) {
        params.n_heavy = params.n_ctx; // later queries of a chunk have a say in its choice: here there is none
    }
    test_change(model, params, 1);
}

static void test_no_later_chunk(const tiny_model & model, const test_context_params & params) {
    test_change(model, params, params.n_chunk);
}

// in the first layer, where nothing has passed through another position yet, a token of chunk 0 reaches chunk 1 through
// its memory set and in no other way; and no token of another chunk moves a score that a chunk gives to itself, nor K
// and V. In the two-pass schedule this holds for all layers: its first pass knows no memory
static void test_no_other_chunk(const tiny_model & model, const test_context_params & params) {
    const int S        = 32;
    const int n_embd   = model.params.n_head*model.params.d_head;
    const int n_embd_g = n_embd/model.params.n_head_kv; // output of the query heads of one KV head

    const std::vector<llama_token> prompt = tiny_prompt(3*S);

    test_context ctx(model, params);
    ctx.decode(prompt);

    const std::vector<float>      out   = ctx.out(0);
    const std::vector<test_trace> trace = ctx.trace(); // layer 0 comes first

    // of chunk 1, one KV head
    const auto memory = [](const std::vector<test_trace> & trace, int ih) {
        const test_trace & t = trace[1];
        return std::vector<int>(t.mem_pos.begin() + ih*t.n_mem, t.mem_pos.begin() + (ih + 1)*t.n_mem);
    };
    const auto is_same_out = [&](const std::vector<float> & other, int ih) {
        for (int i = S; i < 2*S; ++i) {
            const size_t begin = i*n_embd + ih*n_embd_g;
            if (!std::equal(out.begin() + begin, out.begin() + begin + n_embd_g, other.begin() + begin)) {
                return false;
            }
        }
        return true;
    };

    int  n_outside    = 0;
    int  n_inside     = 0;
    bool is_passed_on = false; // above the first layer

    for (int j = 0; j < S; ++j) {
        std::vector<llama_token> changed = prompt;
        changed[j] = (changed[j] + 1) % 256;

        test_context ctx_other(model, params);
        ctx_other.decode(changed);

        const std::vector<float>      out_other   = ctx_other.out(0);
        const std::vector<test_trace> trace_other = ctx_other.trace();

        for (int il = 0; il < model.params.n_layer; ++il) {
            const bool is_local = il == 0 || params.schedule == H2O_SCHEDULE_TWO_PASS;

            const auto is_same_score = [&](int ic) { return trace_other[il*3 + ic].chunk_score == trace[il*3 + ic].chunk_score; };

            CHECK(!is_same_score(0));
            CHECK(!is_local || (is_same_score(1) && is_same_score(2)));
            is_passed_on = is_passed_on || !is_same_score(1);

            for (const auto & [a, b] : { std::pair(ctx.k(il), ctx_other.k(il)), std::pair(ctx.v(il), ctx_other.v(il)) }) {
                CHECK(!is_local || std::equal(a.begin() + a.size()/3, a.end(), b.begin() + a.size()/3));
            }
        }

        for (int ih = 0; ih < model.params.n_head_kv; ++ih) {
            const std::vector<int> set = memory(trace, ih);

            if (memory(trace_other, ih) == set) { // the change did not move the selection itself
                const bool is_inside = std::binary_search(set.begin(), set.end(), j);

                CHECK(is_same_out(out_other, ih) == !is_inside);
                (is_inside ? n_inside : n_outside)++;
            }
        }
    }
    CHECK(n_outside >= 3 && n_inside >= 3);
    CHECK(is_passed_on == (params.schedule == H2O_SCHEDULE_SINGLE_PASS));
}

// The same by query, where each block of 64 queries of a head has a set of its own, and sees Local beside it, and estimates of
// whole pages behind the first.
static void test_no_other_block(const tiny_model & model, const test_context_params & params) {
    const int S      = params.n_chunk;
    const int n_cand = S - params.n_local;
    const int n_head = model.params.n_head;
    const int d      = model.params.d_head;

    const std::vector<llama_token> prompt = tiny_prompt(2*S);

    test_context ctx(model, params);
    ctx.decode(prompt);

    const std::vector<float> out   = ctx.out(0);
    const test_trace         trace = ctx.trace()[1]; // layer 0, chunk 1
    const int                n_mem = trace.n_mem;

    int n_outside = 0;
    int n_inside  = 0;

    for (int j = 0; j < S; j += 3) {
        std::vector<llama_token> changed = prompt;
        changed[j] = (changed[j] + 1) % 256;

        test_context ctx_other(model, params);
        ctx_other.decode(changed);

        const std::vector<float> out_other   = ctx_other.out(0);
        const test_trace         trace_other = ctx_other.trace()[1];

        CHECK(trace_other.order == trace.order);
        for (const auto & [a, b] : { std::pair(ctx.k(0), ctx_other.k(0)), std::pair(ctx.v(0), ctx_other.v(0)) }) {
            CHECK(std::equal(a.begin() + a.size()/2, a.end(), b.begin() + a.size()/2));
        }
        for (int is = 0; is*64 < S; ++is) {
            for (int ih = 0; ih < n_head; ++ih) {
                const auto begin = trace.mem_pos.begin() + (is*n_head + ih)*n_mem;

                if (!std::equal(begin, begin + n_mem, trace_other.mem_pos.begin() + (is*n_head + ih)*n_mem)) {
                    continue; // the change moved the choice itself
                }
                bool is_same = true;
                for (int place = is*64; place < std::min(S, (is + 1)*64); ++place) {
                    const size_t at = ((S + trace.order[ih*S + place])*n_head + ih)*d;
                    is_same = is_same && std::equal(out.begin() + at, out.begin() + at + d, out_other.begin() + at);
                }
                const bool is_estimated = j >= 64 && j < n_cand/64*64;
                const bool is_inside    = j >= n_cand || is_estimated || std::binary_search(begin, begin + n_mem, j);

                CHECK(is_same == !is_inside);
                (is_inside ? n_inside : n_outside)++;
            }
        }
    }
    CHECK(n_outside >= 3 && n_inside >= 3);
}

// the first layer's K and V of a sparse call are stock's, bit for bit: RoPE is at absolute positions, in both pairings
static void test_rope(const tiny_model & model, const test_context_params & params) {
    const std::vector<llama_token> prompt = tiny_prompt(5*params.n_chunk + 7);

    test_context ctx(model, params);
    ctx.decode(prompt);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);

    test_context stock(model, params.off());
    stock.decode(prompt);
    CHECK(stock.call().path == H2O_PATH_DENSE);

    CHECK(ctx.k_cache(0, prompt.size()) == stock.k_cache(0, prompt.size()));
    CHECK(ctx.v_cache(0, prompt.size()) == stock.v_cache(0, prompt.size()));
}

// each call writes its own cells, in both layouts of V, and no others
static void test_cells(const tiny_model & model, test_context_params params, bool flash_attn) {
    params.flash_attn = flash_attn;

    const int    S      = params.n_chunk;
    const size_t n_embd = model.params.n_head_kv*model.params.d_head;

    test_context ctx(model, params);
    int n_before = 0;

    for (const int n : { 3*S + 7, 5, 2*S + 1 }) {
        std::vector<test_kv> k_before, v_before;
        for (int il = 0; il < model.params.n_layer; ++il) {
            k_before.push_back(ctx.k_cache(il, n_before));
            v_before.push_back(ctx.v_cache(il, n_before));
        }
        ctx.decode(tiny_prompt(n, n));

        for (int il = 0; il < model.params.n_layer; ++il) {
            for (const auto & [cache, before, written] : {
                    std::tuple(ctx.k_cache(il, params.n_ctx), k_before[il], ctx.k(il)),
                    std::tuple(ctx.v_cache(il, params.n_ctx), v_before[il], ctx.v(il)) }) {
                const auto begin = cache.begin() + n_before*n_embd;
                const auto end   = begin + n*n_embd;

                CHECK(written.size() == n*n_embd);
                CHECK(std::equal(cache.begin(), begin, before.begin()));
                CHECK(std::equal(begin, end, written.begin()));
                CHECK(std::all_of(end, cache.end(), [](float x) { return x == 0.0f; }));
            }
        }
        n_before += n;
    }
}

static const suite cases("intra-attn", [](suite & s) {
    // composed attention by query costs little here, and is of core, too
    const auto with_query_in_core = [](std::vector<test_way> ways) {
        for (test_way & way : ways) {
            way.label = way.params.policy == H2O_POLICY_QUERY ? TEST_CORE : TEST_WAYS;
        }
        return ways;
    };
    const std::vector<test_way> all   = with_query_in_core(test_ways());
    const std::vector<test_way> query = with_query_in_core(test_query_ways());

    add_in_ways(s, "no future",      test_no_future,      {}, all);
    add_in_ways(s, "no later chunk", test_no_later_chunk, {}, query);
    add_in_ways(s, "no other chunk", test_no_other_chunk, {}, test_votes_ways());
    add_in_ways(s, "no other block", test_no_other_block, {}, query);

    for (const char * arch : { "llama", "qwen3" }) {
        tiny_model_params shape;
        shape.arch = arch;
        add_in_ways(s, std::string("RoPE of ") + arch, test_rope, shape, all);
    }
    add_in_ways(s, "cells", [](const tiny_model & model, const test_context_params & params) {
        test_cells(model, params, false);
        test_cells(model, params, true);
    }, {}, all);
});
