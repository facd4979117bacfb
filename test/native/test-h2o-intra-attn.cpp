// Attention inside a chunk: a composed block equals the oracle; whole models are blind to the future and to other
// chunks, with RoPE at absolute positions and K and V written once, where they belong.

#include "naive.h"
#include "testing.h"

#include "h2o-block-composed.h"

#include "tests/h2o-oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

// h2o_build_attn_block over several chunks and heads at once
static void test_block(test_random & rnd) {
    const int   d        = 2*rnd.integer(1, 48);
    const int   n        = rnd.integer(1, 40); // queries and keys of a chunk
    const int   n_group  = rnd.integer(1, 4);
    const int   n_head   = rnd.integer(1, 3);  // KV heads
    const int   n_chunks = rnd.integer(1, 3);
    const int   n_rows   = n*n_group;
    const float scale    = 1.0f/std::sqrt((float) d);

    const auto random = [&](int size) {
        std::vector<float> res(size);
        for (float & x : res) {
            x = rnd.uniform(-3.0f, 3.0f);
        }
        return res;
    };
    const std::vector<float> q   = random(d*n_rows*n_head*n_chunks);
    const std::vector<float> k   = random(d*n*n_head*n_chunks);
    const std::vector<float> v_t = random(d*n*n_head*n_chunks);

    std::vector<ggml_fp16_t> mask;
    for (int row = 0; row < n_rows; ++row) {
        for (int j = 0; j < n; ++j) {
            mask.push_back(ggml_fp32_to_fp16(j <= row/n_group ? 0.0f : -INFINITY));
        }
    }

    test_graph g;
    ggml_tensor * t_q    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, d, n_rows, n_head, n_chunks);
    ggml_tensor * t_k    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, d, n,      n_head, n_chunks);
    ggml_tensor * t_v    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, n, d,      n_head, n_chunks);
    ggml_tensor * t_mask = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F16, n, n_rows);
    ggml_tensor * t_ones = ggml_new_tensor_1d(g.ctx.get(), GGML_TYPE_F32, n_rows*n_head*n_chunks);

    const h2o_attn_block block = h2o_build_attn_block(g.ctx.get(), t_q, t_k, t_v, t_mask, t_ones, { scale });

    g.alloc();
    test_set(t_q,    q);
    test_set(t_k,    k);
    test_set(t_v,    v_t);
    test_set(t_mask, mask);
    test_set(t_ones, std::vector<float>(n_rows*n_head*n_chunks, 1.0f));
    g.compute({ block.o, block.lse, block.votes });

    const std::vector<float> o     = test_get<float>(block.o);
    const std::vector<float> lse   = test_get<float>(block.lse);
    const std::vector<float> votes = test_get<float>(block.votes);

    CHECK(block.o->ne[0]     == d && block.o->ne[1]     == n_rows && block.o->ne[2]     == n_head && block.o->ne[3]     == n_chunks);
    CHECK(block.lse->ne[0]   == 1 && block.lse->ne[1]   == n_rows && block.lse->ne[2]   == n_head && block.lse->ne[3]   == n_chunks);
    CHECK(block.votes->ne[0] == n && block.votes->ne[1] == 1      && block.votes->ne[2] == n_head && block.votes->ne[3] == n_chunks);

    const auto near = [](double got, double expected) { return std::fabs(got - expected) <= 2e-5*std::max(1.0, std::fabs(expected)); };

    for (int i_block = 0; i_block < n_head*n_chunks; ++i_block) {
        // rows are by query and head of the group, as a chunk of a KV head of its own is
        const std::vector<double> expected = h2o_oracle_attn(
                { d, d, n_group, 1, n, 1 }, scale, q.data() + (size_t) i_block*n_rows*d,
                [](int, int i, int) {
                    std::vector<int> seen(i + 1);
                    std::iota(seen.begin(), seen.end(), 0);
                    return seen;
                },
                [&](int j, int) { return k.data() + (size_t) (i_block*n + j)*d; },
                [&](int j, int, int i) { return v_t[(size_t) (i_block*d + i)*n + j]; }, nullptr, nullptr, n);

        for (int i = 0; i < d*n_rows; ++i) { CHECK(near(o[i_block*d*n_rows + i], expected[i])); }
        for (int i = 0; i < n_rows;   ++i) { CHECK(near(lse[i_block*n_rows + i], expected[d*n_rows + i])); }
        for (int j = 0; j < n;        ++j) { CHECK(near(votes[i_block*n + j],    expected[(d + 1)*n_rows + j])); }
    }
}

static std::vector<float> logits_of(const tiny_model & model, const test_context_params & params, const std::vector<llama_token> & prompt) {
    test_context ctx(model, params);
    ctx.decode(prompt);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);
    return ctx.logits();
}

// another token at j changes what comes from j on, and not one bit before
static void test_no_future(const tiny_model & model, const test_context_params & params) {
    const std::vector<llama_token> prompt = tiny_prompt(3*32 + 9);
    const std::vector<float>       logits = logits_of(model, params, prompt);

    for (const int j : { 1, 17, 31, 32, 33, 63, 64, 95, 96, 104 }) {
        std::vector<llama_token> changed = prompt;
        changed[j] = (changed[j] + 1) % 256;

        const std::vector<float> other = logits_of(model, params, changed);
        const int n = model.params.n_vocab;

        CHECK( std::equal(logits.begin(),         logits.begin() + j*n,       other.begin()));
        CHECK(!std::equal(logits.begin() + j*n,   logits.begin() + (j + 1)*n, other.begin() + j*n));
    }
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

// the first layer's K of a token that stands at position 0 and at p: at 0 RoPE does nothing
static void test_rope(const char * arch, const test_context_params & params) {
    tiny_model_params mparams;
    mparams.arch = arch;

    const tiny_model model(mparams);
    const int S = 32;
    const int d = mparams.d_head;

    std::vector<llama_token> prompt = tiny_prompt(5*S + 7);

    const std::vector<int> places = { S - 1, S, 2*S, 4*S + 3, 5*S, 5*S + 6 };
    for (const int p : places) {
        prompt[p] = prompt[0];
    }

    test_context ctx(model, params);
    ctx.decode(prompt);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);

    const test_kv k      = ctx.k_cache(0, prompt.size());
    const int     n_embd = mparams.n_head_kv*d;

    const bool is_neox = mparams.arch == "qwen3"; // pairs (i, i + d/2) instead of (2i, 2i + 1)

    for (const int p : places) {
        for (int ih = 0; ih < mparams.n_head_kv; ++ih) {
            const float * at_0 = k.data() + ih*d;
            const float * at_p = k.data() + (size_t) p*n_embd + ih*d;

            for (int i = 0; i < d/2; ++i) {
                const int a = is_neox ? i       : 2*i;
                const int b = is_neox ? i + d/2 : 2*i + 1;

                const double angle = p*std::pow(10000.0, -2.0*i/d);

                CHECK(std::fabs(at_p[a] - (at_0[a]*std::cos(angle) - at_0[b]*std::sin(angle))) < 1e-4);
                CHECK(std::fabs(at_p[b] - (at_0[a]*std::sin(angle) + at_0[b]*std::cos(angle))) < 1e-4);
            }
        }
    }

    // and as stock has it, bit for bit
    test_context stock(model, params.off());
    stock.decode(prompt);
    CHECK(stock.call().path == H2O_PATH_DENSE);
    CHECK(stock.k_cache(0, prompt.size()) == k);
    CHECK(stock.v_cache(0, prompt.size()) == ctx.v_cache(0, prompt.size()));
}

// each call writes its own cells, in both layouts of V, and no others
static void test_cells(const tiny_model & model, test_context_params params, bool flash_attn) {
    params.flash_attn = flash_attn;

    const size_t n_embd = model.params.n_head_kv*model.params.d_head;

    test_context ctx(model, params);
    int n_before = 0;

    for (const int n : { 3*32 + 7, 5, 2*32 + 1 }) {
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

int main() {
    test_random rnd;
    for (int i = 0; i < 200; ++i) {
        test_block(rnd);
    }

    const tiny_model model;

    for (const test_context_params & params : test_all_ways()) {
        test_no_future(model, params);
        test_no_other_chunk(model, params);
        test_rope("llama", params);
        test_rope("qwen3", params);
        test_cells(model, params, false);
        test_cells(model, params, true);
    }

    printf("H2O intra-attn checks passed\n");
    return 0;
}
