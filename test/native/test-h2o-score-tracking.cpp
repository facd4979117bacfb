// Scores: a chunk's own positions start with the column sums of its intra weights, members of the memory set gain the
// column sums of the inter weights, once per chunk, per layer and KV head, at absolute positions.

#include "naive.h"
#include "testing.h"

#include "h2o-block-composed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

// column sums of weights that can be worked out on paper
static void test_on_paper() {
    const float ln2 = std::log(2.0f);
    const float ln3 = std::log(3.0f);

    test_graph g;
    ggml_tensor * q    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 3, 3, 1, 1);
    ggml_tensor * k    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 3, 3, 1, 1);
    ggml_tensor * v_t  = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, 3, 1, 1, 1);
    ggml_tensor * mask = ggml_new_tensor_2d(g.ctx.get(), GGML_TYPE_F16, 3, 3);
    ggml_tensor * ones = ggml_new_tensor_1d(g.ctx.get(), GGML_TYPE_F32, 3);

    const h2o_attn_block intra = h2o_build_attn_block(g.ctx.get(), q, k, v_t, mask,    ones, { 1.0f });
    const h2o_attn_block inter = h2o_build_attn_block(g.ctx.get(), q, k, v_t, nullptr, ones, { 1.0f });

    const ggml_fp16_t on  = ggml_fp32_to_fp16(0.0f);
    const ggml_fp16_t off = ggml_fp32_to_fp16(-INFINITY);

    g.alloc();
    test_set<float>(k, { 1, 0, 0,   0, 1, 0,   0, 0, 1 }); // so that q holds the logits
    test_set<float>(q, {
        0,   ln3, 0,
        0,   ln3, ln2,
        0,   0,   ln2 });
    test_set<ggml_fp16_t>(mask, {
        on, off, off,
        on, on,  off,
        on, on,  on });
    test_set<float>(v_t,  { 0, 0, 0 });
    test_set<float>(ones, { 1, 1, 1 });
    g.compute({ intra.votes, inter.votes });

    // intra weights:  1   0   0     inter weights:  1/5 3/5 1/5
    //                 1/4 3/4 0                     1/6 3/6 2/6
    //                 1/4 1/4 2/4                   1/4 1/4 2/4
    const double intra_expected[3] = { 1.5, 1.0, 0.5 };
    const double inter_expected[3] = { 37/60.0, 81/60.0, 62/60.0 };

    for (int j = 0; j < 3; ++j) {
        CHECK(std::fabs(test_get<float>(intra.votes)[j] - intra_expected[j]) < 1e-6);
        CHECK(std::fabs(test_get<float>(inter.votes)[j] - inter_expected[j]) < 1e-6);
    }
}

// whole models, several calls: every score equals the one that plain loops add up
static void test_tracking(const test_context_params & params, const char * arch, int n_head_kv) {
    tiny_model_params mparams;
    mparams.arch      = arch;
    mparams.n_head_kv = n_head_kv;

    const tiny_model model(mparams);
    test_context ctx(model, params);
    naive_replay replay(ctx);

    for (const int n : { 6*32, 20, 4*32 + 13, 33 }) {
        ctx.decode(tiny_prompt(n, n));
        replay.check_call();
    }
    CHECK(replay.error_score < 1e-5);
}

// the entries of one layer, in order of the chunks
static std::vector<test_trace> trace_of(const test_context & ctx, int il) {
    std::vector<test_trace> res;
    for (const test_trace & t : ctx.trace()) {
        if (t.il == il) {
            res.push_back(t);
        }
    }
    return res;
}

// a chunk's scores stand at its own absolute positions: seen from the next chunk, whose Local they are, before any vote
// (query weights over the memory sum to 1, so the score of a Local position is what it started with, plus at most n
// votes)
static void test_positions(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;
    const int L = params.n_local;

    test_context ctx(model, params);
    int base = 0;

    for (const int n : { 4*S, 3*S + 5 }) {
        ctx.decode(tiny_prompt(n, n));

        for (int il = 0; il < model.params.n_layer; ++il) {
            const naive_layer             layer(ctx, il);
            const std::vector<test_trace> trace = trace_of(ctx, il);

            for (size_t ic = 0; ic < trace.size(); ++ic) {
                CHECK(trace[ic].pos     == base + (int) ic*S);
                CHECK(trace[ic].n_chunk == std::min(S, n - (int) ic*S));
            }
            for (size_t ic = 1; ic < trace.size(); ++ic) {
                const test_trace & prev = trace[ic - 1];
                const test_trace & cur  = trace[ic];

                for (int ih = 0; ih < cur.n_heads; ++ih) {
                    const std::vector<std::vector<int>> memory(cur.n_heads, { cur.mem_pos.begin() + ih*cur.n_mem, cur.mem_pos.begin() + (ih + 1)*cur.n_mem });
                    const naive_chunk expected(layer, cur.pos, cur.n_chunk, memory);

                    for (int i = 0; i < L; ++i) {
                        const int j = ih*cur.n_mem + cur.n_mem - L + i;

                        CHECK(cur.mem_pos[j] == cur.pos - L + i);

                        const double initial = cur.mem_score[j] - expected.mem_votes[j];
                        CHECK(std::fabs(initial - prev.chunk_score[ih*S + S - L + i]) < 1e-4);
                    }
                }
            }
        }
        base += n;
    }
}

// every query casts one vote over its chunk and one over the memory, once: n_chunks - 1 updates, none of them downwards
static void test_votes(const tiny_model & model, const test_context_params & params) {
    const int n_chunks = 7;
    const int S        = 32;
    const int n_group  = model.params.n_head/model.params.n_head_kv;

    test_context ctx(model, params);
    ctx.decode(tiny_prompt(n_chunks*S));

    for (int il = 0; il < model.params.n_layer; ++il) {
        for (int ih = 0; ih < model.params.n_head_kv; ++ih) {
            std::map<int, float> scores;
            int n_updates = 0;

            for (const test_trace & t : trace_of(ctx, il)) {
                double votes = 0.0;
                std::map<int, float> next;
                for (int j = ih*t.n_mem; j < (ih + 1)*t.n_mem; ++j) {
                    const float before = scores.count(t.mem_pos[j]) ? scores[t.mem_pos[j]] : 0.0f;

                    CHECK(t.mem_score[j] >= before);
                    votes += (double) t.mem_score[j] - before;
                    next[t.mem_pos[j]] = t.mem_score[j];
                }
                if (t.n_mem > 0) {
                    CHECK(std::fabs(votes/(n_group*S) - 1.0) < 1e-4);
                    n_updates++;
                }

                const auto begin = t.chunk_score.begin() + ih*S;
                CHECK(std::fabs(std::accumulate(begin, begin + S, 0.0)/(n_group*S) - 1.0) < 1e-5);
                for (int i = 0; i < S; ++i) {
                    next[t.pos + i] = begin[i];
                }
                scores = next;
            }
            CHECK(n_updates == n_chunks - 1);
        }
    }
}

static void test_heads_differ(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);
    ctx.decode(tiny_prompt(4*32));

    for (const test_trace & t : ctx.trace()) {
        const auto head = t.chunk_score.begin() + t.n_chunk;

        CHECK(t.n_heads == 2);
        CHECK(!std::equal(t.chunk_score.begin(), head, head));
    }
    CHECK(trace_of(ctx, 0)[1].chunk_score != trace_of(ctx, 1)[1].chunk_score);
}

// a long prompt: scores stay finite, and F32 does not lose what 300 chunks add to what has grown large
static void test_long_prompt(const tiny_model & model, test_context_params params) {
    params.n_chunk = 16;
    params.n_local = 4;
    params.n_heavy = 4;
    params.n_ctx   = 300*16;
    params.n_batch = 100*16;

    test_context ctx(model, params);
    naive_replay replay(ctx);

    float largest = 0.0f;
    for (int i = 0; i < 3; ++i) {
        ctx.decode(tiny_prompt(params.n_batch, i));
        replay.check_call();

        for (const test_trace & t : ctx.trace()) {
            for (const float score : t.mem_score) {
                CHECK(std::isfinite(score));
                largest = std::max(largest, score);
            }
        }
        for (const float x : ctx.logits()) {
            CHECK(std::isfinite(x));
        }
    }
    CHECK(largest > 256.0f);
    CHECK(replay.error_score < 1e-5);
}

int main() {
    test_on_paper();

    const tiny_model model;

    for (const test_context_params & params : test_all_ways()) {
        for (const char * arch : { "llama", "qwen3" }) {
            for (const int n_head_kv : { 1, 2, 4 }) {
                test_tracking(params, arch, n_head_kv);
            }
        }
        test_positions(model, params);
        test_votes(model, params);
        test_heads_differ(model, params);
        test_long_prompt(model, params);
    }

    printf("H2O score tracking checks passed\n");
    return 0;
}
