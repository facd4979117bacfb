// Grouped-query attention: the query heads of a KV head vote together, so scores and memory sets are per KV head and
// the votes of a group are the sum of its heads' votes.
// Held against models whose KV heads are repeated until each query head has its own.

#include "naive.h"
#include "testing.h"

#include "h2o-block-composed.h"

#include <algorithm>
#include <cmath>

// a block with the group folded into its rows equals one block per head of the group
static void test_block(test_random & rnd) {
    const int d       = 16;
    const int n       = rnd.integer(1, 20);
    const int n_keys  = rnd.integer(1, 30);
    const int n_group = rnd.integer(2, 8);

    std::vector<std::vector<float>> q(n_group); // per head: [n][d]
    std::vector<float> q_folded;                // [n][n_group][d]
    for (std::vector<float> & head : q) {
        for (int i = 0; i < n*d; ++i) {
            head.push_back(rnd.uniform(-1.0f, 1.0f));
        }
    }
    for (int i = 0; i < n; ++i) {
        for (const std::vector<float> & head : q) {
            q_folded.insert(q_folded.end(), head.begin() + i*d, head.begin() + (i + 1)*d);
        }
    }
    std::vector<float> k(d*n_keys), v_t(d*n_keys);
    for (int i = 0; i < d*n_keys; ++i) {
        k  [i] = rnd.uniform(-1.0f, 1.0f);
        v_t[i] = rnd.uniform(-1.0f, 1.0f);
    }

    const auto run = [&](const std::vector<float> & q, std::vector<float> & o, std::vector<float> & votes) {
        const int n_rows = q.size()/d;

        test_graph g;
        ggml_tensor * t_q    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, d, n_rows, 1, 1);
        ggml_tensor * t_k    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, d, n_keys, 1, 1);
        ggml_tensor * t_v    = ggml_new_tensor_4d(g.ctx.get(), GGML_TYPE_F32, n_keys, d, 1, 1);
        ggml_tensor * t_ones = ggml_new_tensor_1d(g.ctx.get(), GGML_TYPE_F32, n_rows);

        const h2o_attn_block block = h2o_build_attn_block(g.ctx.get(), t_q, t_k, t_v, nullptr, t_ones, { 1.0f });

        g.alloc();
        test_set(t_q,    q);
        test_set(t_k,    k);
        test_set(t_v,    v_t);
        test_set(t_ones, std::vector<float>(n_rows, 1.0f));
        g.compute({ block.o, block.votes });

        o     = test_get<float>(block.o);
        votes = test_get<float>(block.votes);
    };

    std::vector<float> o, votes;
    run(q_folded, o, votes);

    std::vector<double> sum(n_keys, 0.0);
    for (int ih = 0; ih < n_group; ++ih) {
        std::vector<float> o_head, votes_head;
        run(q[ih], o_head, votes_head);

        for (int i = 0; i < n*d; ++i) {
            CHECK(std::fabs(o[((i/d)*n_group + ih)*d + i%d] - o_head[i]) < 1e-6);
        }
        for (int j = 0; j < n_keys; ++j) {
            sum[j] += votes_head[j];
        }
    }
    for (int j = 0; j < n_keys; ++j) {
        CHECK(std::fabs(votes[j] - sum[j]) < 1e-5*(1.0 + sum[j]));
    }
}

// scores of one entry are, per KV head, the sums over the n_group heads of the other entry
static void check_sums(const std::vector<float> & got, const std::vector<float> & heads, int n_group) {
    CHECK(heads.size() == got.size()*n_group);

    const size_t n_head_kv = 2;
    const size_t n         = got.size()/n_head_kv;

    for (size_t ih = 0; ih < n_head_kv; ++ih) {
        for (size_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (int ig = 0; ig < n_group; ++ig) {
                sum += heads[(ih*n_group + ig)*n + i];
            }
            CHECK(std::fabs(got[ih*n + i] - sum) < 1e-4*sum);
        }
    }
}

static tiny_model_params grouped(int n_group) {
    tiny_model_params res;
    res.n_head    = 2*n_group;
    res.n_head_kv = 2;
    return res;
}

// the same function, each query head with a KV head of its own
static tiny_model_params repeated(int n_group) {
    tiny_model_params res = grouped(n_group);
    res.n_repeat = n_group;
    return res;
}

// Local only: all heads remember the same, so the two models are one, and every score of every layer and chunk is a sum
static void test_local_only(test_context_params params, int n_group) {
    params.n_local = 20;
    params.n_heavy = 0;

    const tiny_model gqa(grouped(n_group));
    const tiny_model mha(repeated(n_group));
    test_context ctx_gqa(gqa, params);
    test_context ctx_mha(mha, params);

    for (const int n : { 4*32 + 7, 2*32 }) {
        ctx_gqa.decode(tiny_prompt(n, n));
        ctx_mha.decode(tiny_prompt(n, n));

        CHECK(naive_nmse(ctx_gqa.logits(), ctx_mha.logits()) < 1e-10);

        const std::vector<test_trace> trace_gqa = ctx_gqa.trace();
        const std::vector<test_trace> trace_mha = ctx_mha.trace();

        CHECK(!trace_gqa.empty() && trace_gqa.size() == trace_mha.size());
        for (size_t i = 0; i < trace_gqa.size(); ++i) {
            CHECK(trace_gqa[i].n_heads == 2 && trace_mha[i].n_heads == 2*n_group);
            check_sums(trace_gqa[i].chunk_score, trace_mha[i].chunk_score, n_group);
            check_sums(trace_gqa[i].mem_score,   trace_mha[i].mem_score,   n_group);
        }
    }
}

// with Heavy: a group chooses by the sum, which is not what its heads would choose each for itself
static void test_heavy(const test_context_params & params, int n_group) {
    const tiny_model gqa(grouped(n_group));
    const tiny_model mha(repeated(n_group));
    test_context ctx_gqa(gqa, params);
    test_context ctx_mha(mha, params);

    ctx_gqa.decode(tiny_prompt(2*32));
    ctx_mha.decode(tiny_prompt(2*32));

    // layer 0: chunk 0, then chunk 1 with the first selection
    const std::vector<test_trace> trace_gqa = ctx_gqa.trace();
    const std::vector<test_trace> trace_mha = ctx_mha.trace();

    check_sums(trace_gqa[0].chunk_score, trace_mha[0].chunk_score, n_group);
    check_sums(trace_gqa[1].chunk_score, trace_mha[1].chunk_score, n_group);

    const test_trace & chosen = trace_gqa[1];

    for (int ih = 0; ih < 2; ++ih) {
        std::map<int32_t, float> sums;
        for (int i = 0; i < 32; ++i) {
            for (int ig = 0; ig < n_group; ++ig) {
                sums[i] += trace_mha[0].chunk_score[(ih*n_group + ig)*32 + i];
            }
        }
        const auto begin = chosen.mem_pos.begin() + ih*chosen.n_mem;

        CHECK(std::vector<int32_t>(begin, begin + chosen.n_mem) == h2o_oracle_select(sums, 32, 8, 16));

        int n_same = 0;
        for (int ig = 0; ig < n_group; ++ig) {
            n_same += std::equal(begin, begin + chosen.n_mem, trace_mha[1].mem_pos.begin() + (ih*n_group + ig)*chosen.n_mem);
        }
        CHECK(n_same < n_group);
    }
}

int main() {
    test_random rnd;
    for (int i = 0; i < 50; ++i) {
        test_block(rnd);
    }
    for (const test_context_params & params : test_all_ways()) {
        for (const int n_group : { 2, 3, 4 }) {
            test_local_only(params, n_group);
            test_heavy(params, n_group);
        }
    }

    printf("H2O GQA memory checks passed\n");
    return 0;
}
