// GGML_OP_H2O, DECODE: random shapes, cache types, layouts, masks, sinks and caps against a plain loop in double over what
// the cache holds, and the same bits for 1 to 8 threads, alone and beside other streams.

#include "suite.h"
#include "testing.h"

#include "ops/ggml-h2o.h"
#include "tests/h2o-oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

// of one stream
struct problem {
    int d_k;
    int d_v;
    int n_head_kv;
    int n_group;
    int n_tokens;
    int n_kv;

    ggml_type type_k;
    ggml_type type_v;
    ggml_type type_mask;

    bool  v_trans;
    bool  q_apart; // rows of q are parts of longer ones
    bool  has_sinks;
    bool  has_garbage; // what the mask hides is NaN
    float scale;
    float cap;

    std::vector<float> q;     // [n_tokens][n_head][d_k]
    std::vector<float> k;     // [n_kv][n_head_kv][d_k]
    std::vector<float> v;     // [n_kv][n_head_kv][d_v]
    std::vector<float> mask;  // [n_tokens][n_kv]
    std::vector<float> sinks; // [n_head]

    int n_head() const { return n_head_kv*n_group; }
};

} // namespace

// what each token sees: the first cells (as it decodes), cells of a ring, all but a few holes, or nothing
static std::vector<float> random_mask(test_random & rnd, const problem & p) {
    std::vector<float> mask(p.n_tokens*p.n_kv, -INFINITY);

    const int kind    = rnd.integer(0, 3);
    const int n_last  = rnd.integer(p.n_tokens, p.n_kv); // cells that the last token sees
    const int n_cells = rnd.integer(1, p.n_kv);
    const int begin   = rnd.integer(0, p.n_kv - 1);

    std::vector<bool> hole(p.n_kv);
    for (int i = 0; i < p.n_kv; ++i) {
        hole[i] = kind == 2 && rnd.integer(0, 3) == 0;
    }

    for (int t = 0; t < p.n_tokens; ++t) {
        for (int i = 0; i < p.n_kv; ++i) {
            const bool is_before = i < n_last - (p.n_tokens - 1 - t);
            const bool is_seen   =
                kind == 1 ? (i - begin + p.n_kv) % p.n_kv < n_cells :
                kind == 3 ? is_before && t % 3 != 1 && i >= begin : is_before && !hole[i];

            if (is_seen) {
                mask[t*p.n_kv + i] = 0.0f;
            }
        }
    }
    return mask;
}

// mask, q, k and v anew
static void fill_problem(test_random & rnd, problem & p) {
    p.mask = random_mask(rnd, p);

    const auto fill = [&](std::vector<float> & x, size_t n, float max) {
        x.resize(n);
        std::generate(x.begin(), x.end(), [&] { return rnd.uniform(-max, max); });
    };
    fill(p.q, p.n_tokens*p.n_head()*p.d_k, 2.0f);
    fill(p.k, p.n_kv*p.n_head_kv*p.d_k, 2.0f);
    fill(p.v, p.n_kv*p.n_head_kv*p.d_v, 1.0f);

    // what is left in cells that nobody sees
    for (int i = 0; p.has_garbage && i < p.n_kv; ++i) {
        bool is_seen = false;
        for (int t = 0; t < p.n_tokens; ++t) {
            is_seen = is_seen || p.mask[t*p.n_kv + i] == 0.0f;
        }
        if (!is_seen) {
            std::fill_n(p.k.begin() + i*p.n_head_kv*p.d_k, p.n_head_kv*p.d_k, NAN);
            std::fill_n(p.v.begin() + i*p.n_head_kv*p.d_v, p.n_head_kv*p.d_v, NAN);
        }
    }
}

static problem random_problem(test_random & rnd) {
    static const std::vector<ggml_type> types = {
        GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
    };

    problem p;
    p.type_k    = rnd.pick(types);
    p.type_v    = rnd.pick(types);
    p.d_k       = rnd.pick<int>({ 32, 64, 96, 128, 256 });
    p.d_v       = rnd.integer(0, 2) ? p.d_k : rnd.pick<int>({ 32, 64, 96, 128, 256 });
    p.n_head_kv = rnd.integer(1, 4);
    p.n_group   = rnd.integer(1, 8);
    p.n_tokens  = rnd.integer(0, 1) ? rnd.integer(1, 4) : rnd.integer(0, 2) ? rnd.integer(5, 64) : rnd.integer(65, 300);
    p.n_kv      = std::max(p.n_tokens, rnd.integer(0, 2) ? rnd.integer(1, 700) : 256*rnd.integer(1, 6));
    p.v_trans   = !ggml_is_quantized(p.type_v) && rnd.integer(0, 1);
    p.q_apart   = rnd.integer(0, 1);
    p.has_sinks = rnd.integer(0, 3) == 0;
    p.type_mask = rnd.integer(0, 1) ? GGML_TYPE_F16 : GGML_TYPE_F32;
    p.cap       = rnd.integer(0, 3) == 0 ? rnd.pick<float>({ 2.0f, 20.0f }) : 0.0f;
    p.scale     = rnd.pick<float>({ 1.0f, 4.0f })/std::sqrt((float) p.d_k);

    if (!ggml_is_quantized(p.type_k) && rnd.integer(0, 3) == 0) {
        p.d_k = rnd.pick<int>({ 8, 20, 72, 80, 112 });
    }
    if (!ggml_is_quantized(p.type_v) && rnd.integer(0, 3) == 0) {
        p.d_v = rnd.pick<int>({ 8, 20, 72, 80, 112 });
    }
    p.has_garbage = !p.v_trans && !ggml_is_quantized(p.type_k) && !ggml_is_quantized(p.type_v) && rnd.integer(0, 2) == 0;

    p.sinks.resize(p.n_head());
    std::generate(p.sinks.begin(), p.sinks.end(), [&] { return rnd.uniform(-4.0f, 4.0f); });

    fill_problem(rnd, p);
    return p;
}

// a cache of rows [n_kv][n_head_kv][d] as the op wants it, and as it is
static std::vector<float> as_stored(ggml_type type, const std::vector<float> & x, int64_t d) {
    return test_to_float(type, test_to_type(type, x, d), x.size());
}

// the outputs of each stream; shapes, types and sinks are those of the first
static std::vector<std::vector<float>> run(const std::vector<problem> & streams, int n_threads) {
    const problem & p = streams.front();
    const int       n = streams.size();

    test_graph g;
    ggml_context * ctx = g.ctx.get();

    const int n_apart = p.q_apart ? p.d_k + 16 : p.d_k;

    ggml_tensor * q_all = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, n_apart, p.n_head(), p.n_tokens, n);
    ggml_tensor * k_all = ggml_new_tensor_4d(ctx, p.type_k, p.d_k, p.n_head_kv, p.n_kv, n);
    ggml_tensor * v_all = p.v_trans ? ggml_new_tensor_4d(ctx, p.type_v, p.n_kv, p.n_head_kv, p.d_v, n)
                                    : ggml_new_tensor_4d(ctx, p.type_v, p.d_v, p.n_head_kv, p.n_kv, n);
    ggml_tensor * mask  = ggml_new_tensor_4d(ctx, p.type_mask, p.n_kv, p.n_tokens, 1, n);
    ggml_tensor * sinks = p.has_sinks ? ggml_new_tensor_1d(ctx, GGML_TYPE_F32, p.n_head()) : nullptr;

    ggml_tensor * q = ggml_view_4d(ctx, q_all, p.d_k, p.n_head(), p.n_tokens, n, q_all->nb[1], q_all->nb[2], q_all->nb[3], 0);

    ggml_tensor * out = ggml_h2o_decode(ctx, q, ggml_permute(ctx, k_all, 0, 2, 1, 3), ggml_permute(ctx, v_all, 0, 2, 1, 3),
            mask, sinks, p.v_trans, p.scale, p.cap);

    CHECK(out->ne[0] == p.d_v && out->ne[1] == p.n_head() && out->ne[2] == p.n_tokens && out->ne[3] == n);

    g.alloc();

    std::vector<float> q_data, k, v, masks;

    for (const problem & s : streams) {
        for (int i = 0; i < p.n_tokens*p.n_head(); ++i) {
            q_data.insert(q_data.end(), s.q.begin() + i*p.d_k, s.q.begin() + (i + 1)*p.d_k);
            q_data.insert(q_data.end(), n_apart - p.d_k, NAN);
        }
        k    .insert(k    .end(), s.k   .begin(), s.k   .end());
        masks.insert(masks.end(), s.mask.begin(), s.mask.end());

        const size_t at = v.size();
        v.insert(v.end(), s.v.begin(), s.v.end());
        for (int i = 0; p.v_trans && i < p.n_kv; ++i) {
            for (int j = 0; j < p.n_head_kv*p.d_v; ++j) {
                v[at + (j%p.d_v*p.n_head_kv + j/p.d_v)*p.n_kv + i] = s.v[i*p.n_head_kv*p.d_v + j];
            }
        }
    }
    test_set(q_all, q_data);
    test_set(k_all, test_to_type(p.type_k, k, p.d_k));
    test_set(v_all, test_to_type(p.type_v, v, p.v_trans ? p.n_kv : p.d_v));
    test_set(mask, test_to_type(p.type_mask, masks, p.n_kv));
    if (sinks) {
        test_set(sinks, p.sinks);
    }
    g.compute({ out }, n_threads);

    const std::vector<float> all = test_get<float>(out);

    std::vector<std::vector<float>> res;
    for (int s = 0; s < n; ++s) {
        res.emplace_back(all.begin() + all.size()/n*s, all.begin() + all.size()/n*(s + 1));
    }
    return res;
}

// the same in double
static std::vector<double> expected(const problem & p) {
    const std::vector<float> k = as_stored(p.type_k, p.k, p.d_k);
    const std::vector<float> v = as_stored(p.type_v, p.v, p.d_v);

    std::vector<double> res;

    for (int t = 0; t < p.n_tokens; ++t) {
        for (int ih = 0; ih < p.n_head(); ++ih) {
            const int h = ih/p.n_group;

            std::vector<double> w; // a sink is one more logit, with a value of zero
            std::vector<int>    cells;

            for (int i = 0; i < p.n_kv; ++i) {
                if (p.mask[t*p.n_kv + i] != -INFINITY) {
                    const double x = p.scale*h2o_oracle_dot(&p.q[(t*p.n_head() + ih)*p.d_k], &k[(i*p.n_head_kv + h)*p.d_k], p.d_k);
                    w    .push_back(p.cap > 0.0f ? p.cap*std::tanh(x/p.cap) : x);
                    cells.push_back(i);
                }
            }
            if (p.has_sinks) {
                w.push_back(p.sinks[ih]);
            }
            if (!w.empty()) {
                h2o_oracle_softmax(w);
            }
            for (int j = 0; j < p.d_v; ++j) {
                double sum = 0.0;
                for (size_t c = 0; c < cells.size(); ++c) {
                    sum += w[c]*v[(cells[c]*p.n_head_kv + h)*p.d_v + j];
                }
                res.push_back(sum);
            }
        }
    }
    return res;
}

static bool has_same_bits(const std::vector<float> & a, const std::vector<float> & b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size()*sizeof(float)) == 0;
}

static void test_problem(const problem & p, int n_threads) {
    const std::vector<float>  got  = run({ p }, 1)[0];
    const std::vector<double> want = expected(p);

    double diff = 0.0, size = 0.0;
    for (size_t i = 0; i < want.size(); ++i) {
        diff += (got[i] - want[i])*(got[i] - want[i]);
        size += want[i]*want[i];
    }
    if (!(diff <= 1e-9*size)) {
        fprintf(stderr, "d %d/%d, %d x %d heads, %d tokens, %d cells, %s/%s, v_trans %d, sinks %d, cap %g: NMSE %g\n",
                p.d_k, p.d_v, p.n_head_kv, p.n_group, p.n_tokens, p.n_kv, ggml_type_name(p.type_k), ggml_type_name(p.type_v),
                p.v_trans, p.has_sinks, p.cap, diff/size);
        CHECK(!"equal to the loop in double");
    }
    CHECK(has_same_bits(run({ p }, n_threads)[0], got));
}

// each stream has the bits that it has alone
static void test_streams(test_random & rnd, const problem & p, int n_threads) {
    std::vector<problem> streams(rnd.integer(1, p.n_tokens > 64 ? 2 : 8), p);
    for (size_t s = 1; s < streams.size(); ++s) {
        fill_problem(rnd, streams[s]);
    }
    const auto got = run(streams, n_threads);
    for (size_t s = 0; s < streams.size(); ++s) {
        CHECK(has_same_bits(got[s], run({ streams[s] }, 1)[0]));
    }
}

// also beside one that is so long that its ranges are larger
static void test_long_neighbour() {
    test_random rnd;

    problem p = {};
    p.d_k  = p.d_v = 32;
    p.n_head_kv    = 4;
    p.n_group      = 5;
    p.n_tokens     = 2; // ten rows of a KV head
    p.n_kv         = 512;
    p.type_k       = p.type_v = p.type_mask = GGML_TYPE_F16;
    p.scale        = 1.0f;
    fill_problem(rnd, p);

    problem longer = p;
    longer.n_kv = 256*40;
    fill_problem(rnd, longer);

    problem shorter = longer; // p with cells behind it that nobody sees
    std::copy(p.q.begin(), p.q.end(), shorter.q.begin());
    std::copy(p.k.begin(), p.k.end(), shorter.k.begin());
    std::copy(p.v.begin(), p.v.end(), shorter.v.begin());
    std::fill(shorter.mask.begin(), shorter.mask.end(), -INFINITY);
    for (int t = 0; t < p.n_tokens; ++t) {
        std::copy_n(p.mask.begin() + t*p.n_kv, p.n_kv, shorter.mask.begin() + t*shorter.n_kv);
    }
    CHECK(has_same_bits(run({ longer, shorter }, 2)[1], run({ p }, 1)[0]));
}

// argument: how many
static void test_random_cases() {
    test_random rnd;

    const int n_cases = test_argument(0, 200);
    for (int i = 0; i < n_cases; ++i) {
        const problem p = random_problem(rnd);

        test_problem(p, 2 + i % 7);
        test_streams(rnd, p, 1 + i % 3);
    }
}

static const suite cases("decode-op", [](suite & s) {
    s.add("random cases",     test_random_cases);
    s.add("a long neighbour", test_long_neighbour);
});
