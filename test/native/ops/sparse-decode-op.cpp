// GGML_OP_H2O, SIGNS and sparse DECODE: the index against its definition in double, the keys that every KV head reads against
// their scores in double, the weights against a softmax in double over these keys, and the same bits for 1 to 8 threads.

#include "suite.h"
#include "testing.h"

#include "ops/ggml-h2o.h"
#include "tests/h2o-oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

static const int PAGE  = 64;
static const int LOCAL = 256;

namespace {

struct problem {
    int d_k       = 64;
    int n_head_kv = 1;
    int n_group   = 1;
    int n_tokens  = 1;
    int n_kv      = 1024;
    int n_seen    = 1024; // cells that the last token sees
    int n_range   = 16;   // pages that the index holds
    int n_heavy   = 32;

    ggml_type type_k    = GGML_TYPE_F32;
    ggml_type type_v    = GGML_TYPE_F32;
    ggml_type type_mask = GGML_TYPE_F16;

    bool  v_trans   = false;
    bool  has_sinks = false;
    float scale     = 0.125f;
    float cap       = 0.0f;
    int   n_hole    = 0; // cells that nobody sees, where page 0 ends: they hold what is no number

    std::vector<float> q; // [n_tokens][n_head][d_k]
    std::vector<float> k; // [n_kv][n_head_kv][d_k]
    std::vector<float> sinks;

    int n_head() const { return n_head_kv*n_group; }

    bool is_hole(int cell) const { return cell < PAGE && cell >= PAGE - n_hole; }
    bool is_seen(int t, int cell) const { return cell < n_seen - (n_tokens - 1 - t) && !is_hole(cell); }
};

} // namespace

static void fill(test_random & rnd, problem & p) {
    const auto random = [&](std::vector<float> & x, size_t n, float max) {
        x.resize(n);
        std::generate(x.begin(), x.end(), [&] { return rnd.uniform(-max, max); });
    };
    random(p.q, p.n_tokens*p.n_head()*p.d_k, 2.0f);
    random(p.k, p.n_kv*p.n_head_kv*p.d_k, 2.0f);
    random(p.sinks, p.n_head(), 3.0f);

    // what pages have in common, and channels that are larger than others
    for (int i = 0; i < p.n_kv; ++i) {
        for (int j = 0; j < p.n_head_kv*p.d_k; ++j) {
            float & x = p.k[i*p.n_head_kv*p.d_k + j];
            x = p.is_hole(i) ? NAN : x*(j % 7 == 0 ? 2.0f : 0.5f) + std::sin(0.1f*(i/PAGE)*(j % 11));
        }
    }
}

static problem random_problem(test_random & rnd) {
    problem p;
    p.type_k    = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1 });
    p.type_v    = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 });
    p.type_mask = rnd.pick<ggml_type>({ GGML_TYPE_F32, GGML_TYPE_F16 });
    p.d_k       = ggml_is_quantized(p.type_k) ? rnd.pick<int>({ 32, 64, 96, 128, 256 }) : rnd.pick<int>({ 2, 20, 64, 70, 72, 80, 112, 128, 250 });
    p.n_head_kv = rnd.integer(1, 3);
    p.n_group   = rnd.integer(1, 5);
    p.n_tokens  = rnd.integer(0, 1) ? 1 : rnd.integer(2, 8);
    p.n_kv      = 256*rnd.integer(1, 12);
    p.n_seen    = rnd.integer(std::max(p.n_tokens, p.n_kv - 400), p.n_kv);
    p.n_range   = rnd.integer(0, 3) ? (p.n_seen - p.n_tokens)/PAGE : rnd.integer(0, (p.n_seen - p.n_tokens)/PAGE);
    p.n_heavy   = rnd.integer(0, 3) ? rnd.integer(1, 200) : rnd.integer(1, 3000);
    p.v_trans   = rnd.integer(0, 1);
    p.has_sinks = rnd.integer(0, 3) == 0;
    p.cap       = rnd.integer(0, 3) == 0 ? 10.0f : 0.0f;
    p.scale     = 1.0f/std::sqrt((float) p.d_k);
    p.n_hole    = !ggml_is_quantized(p.type_k) && rnd.integer(0, 3) == 0 ? rnd.integer(1, 40) : 0;
    fill(rnd, p);
    return p;
}

// keys as the cache holds them
static std::vector<float> keys_of(const problem & p) {
    return test_to_float(p.type_k, test_to_type(p.type_k, p.k, p.d_k), p.k.size());
}

namespace {

struct result {
    std::vector<uint8_t> signs; // the index
    std::vector<float>   out;   // [n_tokens][n_head][d_v]
};

} // namespace

static const int D_V = 256;

// with values of which channel j is 1 in cell begin + j alone: the output is the weights of these cells
static result run(const problem & p, int begin, int n_threads) {
    test_graph g;
    ggml_context * ctx = g.ctx.get();

    const int n_pages = p.n_kv/PAGE;

    ggml_tensor * q     = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p.d_k, p.n_head(), p.n_tokens);
    ggml_tensor * k_all = ggml_new_tensor_3d(ctx, p.type_k, p.d_k, p.n_head_kv, p.n_kv);
    ggml_tensor * v_all = p.v_trans ? ggml_new_tensor_3d(ctx, p.type_v, p.n_kv, p.n_head_kv, D_V)
                                    : ggml_new_tensor_3d(ctx, p.type_v, D_V, p.n_head_kv, p.n_kv);
    ggml_tensor * mask  = ggml_new_tensor_2d(ctx, p.type_mask, p.n_kv, p.n_tokens);
    ggml_tensor * sinks = p.has_sinks ? ggml_new_tensor_1d(ctx, GGML_TYPE_F32, p.n_head()) : nullptr;
    ggml_tensor * signs = ggml_new_tensor_3d(ctx, GGML_TYPE_I8, ggml_h2o_signs_size(p.d_k), n_pages, p.n_head_kv);
    ggml_tensor * range = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 2);

    ggml_tensor * k = ggml_permute(ctx, k_all, 0, 2, 1, 3);

    ggml_tensor * grown = ggml_h2o_signs(ctx, k, signs, range);
    ggml_tensor * out   = ggml_h2o_decode(ctx, q, k, ggml_permute(ctx, v_all, 0, 2, 1, 3), mask, sinks, p.v_trans, p.scale, p.cap);
    ggml_h2o_decode_add_signs(out, grown, range, p.n_heavy);

    g.alloc();

    test_set(q, p.q);
    test_set(k_all, test_to_type(p.type_k, p.k, p.d_k));

    std::vector<float> v(p.n_kv*p.n_head_kv*D_V);
    for (int i = 0; i < p.n_kv; ++i) {
        for (int h = 0; h < p.n_head_kv; ++h) {
            for (int j = 0; j < D_V; ++j) {
                const int at = p.v_trans ? (j*p.n_head_kv + h)*p.n_kv + i : (i*p.n_head_kv + h)*D_V + j;
                v[at] = p.is_hole(i) ? NAN : i == begin + j;
            }
        }
    }
    test_set(v_all, test_to_type(p.type_v, v, p.v_trans ? p.n_kv : D_V));

    std::vector<float> m(p.n_kv*p.n_tokens);
    for (int t = 0; t < p.n_tokens; ++t) {
        for (int i = 0; i < p.n_kv; ++i) {
            m[t*p.n_kv + i] = p.is_seen(t, i) ? 0.0f : -INFINITY;
        }
    }
    test_set(mask, test_to_type(p.type_mask, m, p.n_kv));
    if (sinks) {
        test_set(sinks, p.sinks);
    }
    test_set(signs, std::vector<uint8_t>(ggml_nbytes(signs), 0x7e)); // what no page of the range may be read from
    test_set(range, std::vector<int32_t> { 0, p.n_range });

    g.compute({ out }, n_threads);
    return { test_get<uint8_t>(signs), test_get<float>(out) };
}

// rotated by definition: R[i][j] = (-1)^(common bits of i and j) over blocks
static std::vector<double> rotated(const std::vector<double> & x) {
    const int n = x.size() & -x.size();

    std::vector<double> res(x.size());
    for (int i = 0; i < (int) x.size(); ++i) {
        for (int j = i/n*n; j < i/n*n + n; ++j) {
            res[i] += (__builtin_popcount((i%n) & (j%n)) % 2 ? -x[j] : x[j])/std::sqrt((double) n);
        }
    }
    return res;
}

namespace {

// the index of one page and head, by definition
struct page {
    std::vector<double>              mean;
    std::vector<double>              scales;
    std::vector<std::vector<double>> e; // rotated: their signs
};

} // namespace

static double to_fp16(double x) { return ggml_fp16_to_fp32(ggml_fp32_to_fp16(x)); }

static page page_of(const problem & p, const std::vector<float> & keys, int ip, int ih) {
    const auto key = [&](int i, int j) { return (double) keys[((ip*PAGE + i)*p.n_head_kv + ih)*p.d_k + j]; };

    page res;
    for (int j = 0; j < p.d_k; ++j) {
        double sum = 0.0;
        for (int i = 0; i < PAGE; ++i) {
            sum += key(i, j);
        }
        res.mean.push_back(to_fp16(sum/PAGE));
    }
    for (int i = 0; i < PAGE; ++i) {
        std::vector<double> e;
        for (int j = 0; j < p.d_k; ++j) {
            e.push_back(key(i, j) - res.mean[j]);
        }
        res.e.push_back(rotated(e));

        double sum = 0.0;
        for (const double x : res.e.back()) {
            sum += std::fabs(x);
        }
        res.scales.push_back(to_fp16(sum/p.d_k));
    }
    return res;
}

// what the op wrote, against it
static void check_index(const problem & p, const std::vector<uint8_t> & signs, const std::vector<float> & keys) {
    const size_t size = ggml_h2o_signs_size(p.d_k);

    for (int ih = 0; ih < p.n_head_kv; ++ih) {
        for (int ip = 0; ip < p.n_kv/PAGE; ++ip) {
            const uint8_t * at = signs.data() + (ih*(p.n_kv/PAGE) + ip)*size;

            if (ip >= p.n_range) {
                CHECK(std::all_of(at, at + size, [](uint8_t x) { return x == 0x7e; }));
                continue;
            }
            if (ip == 0 && p.n_hole > 0) {
                continue; // nobody reads it
            }
            const page want = page_of(p, keys, ip, ih);

            const ggml_fp16_t * mean   = (const ggml_fp16_t *) at;
            const ggml_fp16_t * scales = mean + p.d_k;
            const uint8_t     * bits   = (const uint8_t *) (scales + PAGE);

            const auto is_near = [](double x, double y) { return std::fabs(x - y) <= 1e-3*std::fabs(y) + 1e-5; };

            for (int j = 0; j < p.d_k; ++j) {
                CHECK(is_near(ggml_fp16_to_fp32(mean[j]), want.mean[j]));
            }
            for (int i = 0; i < PAGE; ++i) {
                CHECK(is_near(ggml_fp16_to_fp32(scales[i]), want.scales[i]));

                for (int j = 0; j < p.d_k; ++j) {
                    const bool is_plus = bits[j/4*(PAGE/2) + i%(PAGE/2)] >> (j%4 + (i >= PAGE/2 ? 4 : 0)) & 1;
                    CHECK(std::fabs(want.e[i][j]) < 2e-3*(want.scales[i] + std::fabs(want.mean[j])) || is_plus == (want.e[i][j] > 0.0));
                }
            }
        }
    }
}

namespace {

struct scored {
    double score;
    double error; // rounding can take it so far
};

} // namespace

// candidates [PAGE, end) of one query of one head
static std::vector<scored> scores_of(const problem & p, const std::vector<page> & pages, int t, int head, int end) {
    std::vector<double> q;
    for (int j = 0; j < p.d_k; ++j) {
        q.push_back((double) p.q[(t*p.n_head() + head)*p.d_k + j]*p.scale);
    }
    const std::vector<double> r = rotated(q);

    const int n_fours = (p.d_k + 3)/4;

    double max = 0.0;
    for (int f = 0; f < n_fours; ++f) {
        double sum = 0.0;
        for (int j = 4*f; j < std::min(4*f + 4, p.d_k); ++j) {
            sum += std::fabs(r[j]);
        }
        max = std::max(max, sum);
    }

    std::vector<scored> res;
    for (int cell = PAGE; cell < end; ++cell) {
        const page & at = pages[cell/PAGE];

        double by_mean = 0.0, by_signs = 0.0, unsure = 0.0;
        for (int j = 0; j < p.d_k; ++j) {
            const double e = at.e[cell%PAGE][j];

            by_mean  += q[j]*at.mean[j];
            by_signs += e > 0.0 ? r[j] : -r[j];
            unsure   += std::fabs(e) < 2e-3*(at.scales[cell%PAGE] + std::fabs(at.mean[j])) ? 2.0*std::fabs(r[j]) : 0.0;
        }
        const double t_x = at.scales[cell%PAGE];
        res.push_back({ by_mean + t_x*by_signs, t_x*(n_fours*0.5*2.0*max/127 + unsure) + 1e-3*(std::fabs(t_x*by_signs) + std::fabs(by_mean)) + 1e-5 });
    }
    return res;
}

static void check_weights(
        const problem & p, const std::vector<float> & keys, const std::vector<double> & weights, const std::vector<int> & cells, int t, int head) {
    std::vector<double> w;
    for (const int cell : cells) {
        const double x = p.scale*h2o_oracle_dot(
                &p.q[(t*p.n_head() + head)*p.d_k], &keys[(cell*p.n_head_kv + head/p.n_group)*p.d_k], p.d_k);
        w.push_back(p.cap > 0.0f ? p.cap*std::tanh(x/p.cap) : x);
    }
    if (p.has_sinks) {
        w.push_back(p.sinks[head]);
    }
    h2o_oracle_softmax(w);
    for (size_t i = 0; i < cells.size(); ++i) {
        CHECK(std::fabs(weights[cells[i]] - w[i]) <= 1e-4*w[i] + 1e-7);
    }
}

// Of what the heads from `first` on read together: nothing is missing that some head has among its best, however it rounds.
// Returns which candidates may be among them.
static std::vector<bool> check_cells(
        const problem & p, const std::vector<page> & pages, const std::vector<int> & cells, int t, int first, int n_seen, int end) {
    const int n_cand = std::max(0, end - PAGE);

    std::vector<bool> is_read(p.n_kv);
    for (const int cell : cells) {
        is_read[cell] = true;
    }
    for (int i = 0; i < n_seen; ++i) {
        CHECK(is_read[i] || !p.is_seen(t, i) || (i >= PAGE && i < end && n_cand > p.n_heavy));
    }

    std::vector<bool> may_be(n_cand);
    for (int head = first; head < first + p.n_group && n_cand > p.n_heavy; ++head) {
        const std::vector<scored> scores = scores_of(p, pages, t, head, end);

        std::vector<double> least, most; // what each may be
        for (const scored & s : scores) {
            least.push_back(s.score - s.error);
            most .push_back(s.score + s.error);
        }
        std::sort(least.begin(), least.end());
        std::sort(most.begin(),  most.end());

        for (int i = 0; i < n_cand; ++i) {
            const scored & s = scores[i];

            const auto n_surely_better = least.end() - std::upper_bound(least.begin(), least.end(), s.score + s.error);
            const auto n_perhaps_as_good = most.end() - std::lower_bound(most.begin(), most.end(), s.score - s.error); // and itself

            may_be[i] = may_be[i] || n_surely_better < p.n_heavy;
            CHECK(is_read[PAGE + i] || n_perhaps_as_good > p.n_heavy);
        }
    }
    return may_be;
}

// the cells that the heads of every KV head read, by the weights that they got: [n_tokens][n_head_kv]
static std::vector<std::vector<int>> test_problem(const problem & p, int n_threads) {
    const std::vector<float> keys = keys_of(p);

    std::vector<std::vector<double>> weights(p.n_tokens*p.n_head(), std::vector<double>(p.n_kv));

    for (int begin = 0; begin < p.n_kv; begin += D_V) {
        const result got = run(p, begin, 1);
        if (begin == 0) {
            check_index(p, got.signs, keys);
        } else {
            const result again = run(p, begin, n_threads);
            CHECK(again.signs == got.signs && memcmp(again.out.data(), got.out.data(), got.out.size()*sizeof(float)) == 0);
        }
        for (size_t i = 0; i < got.out.size(); ++i) {
            weights[i/D_V][begin + i%D_V] = got.out[i];
        }
    }

    std::vector<std::vector<page>> pages(p.n_head_kv);
    for (int ih = 0; ih < p.n_head_kv; ++ih) {
        for (int ip = 0; ip < p.n_range; ++ip) {
            pages[ih].push_back(page_of(p, keys, ip, ih));
        }
    }

    std::vector<std::vector<int>> res;
    for (int t = 0; t < p.n_tokens; ++t) {
        int n_seen = p.n_kv;
        while (n_seen > 0 && !p.is_seen(t, n_seen - 1)) {
            --n_seen;
        }
        const int end    = PAGE*std::min(p.n_range, std::max(0, n_seen - LOCAL)/PAGE);
        const int n_cand = std::max(0, end - PAGE);

        for (int ih = 0; ih < p.n_head_kv; ++ih) {
            const int first = ih*p.n_group;

            std::vector<int> cells;
            for (int i = 0; i < p.n_kv; ++i) {
                const double w = weights[t*p.n_head() + first][i];
                CHECK(w >= 0.0 && (w == 0.0 || p.is_seen(t, i)));
                if (w > 0.0) {
                    cells.push_back(i);
                }
                for (int head = first; head < first + p.n_group; ++head) { // all heads read the same
                    CHECK((weights[t*p.n_head() + head][i] > 0.0) == (w > 0.0));
                }
            }
            const std::vector<bool> may_be = check_cells(p, pages[ih], cells, t, first, n_seen, end);

            int n_chosen = 0;
            for (const int cell : cells) {
                const bool is_edge = cell < PAGE || cell >= end;
                CHECK(is_edge || n_cand <= p.n_heavy || may_be[cell - PAGE]);
                n_chosen += !is_edge;
            }
            CHECK(n_chosen >= std::min(n_cand, p.n_heavy) && n_chosen <= std::min((int64_t) n_cand, (int64_t) p.n_heavy*p.n_group));

            for (int head = first; head < first + p.n_group; ++head) {
                check_weights(p, keys, weights[t*p.n_head() + head], cells, t, head);
            }
            res.push_back(cells);
        }
    }
    return res;
}

// pages that are all alike: of keys of one score the first are read
static void test_ties() {
    test_random rnd;

    problem p;
    p.n_kv = p.n_seen = 64*PAGE;
    p.n_range = p.n_kv/PAGE;
    p.n_heavy = 500;
    fill(rnd, p);
    for (int i = 2*PAGE*p.d_k; i < (int) p.k.size(); ++i) {
        p.k[i] = p.k[i - PAGE*p.d_k];
    }
    const std::vector<int> cells = test_problem(p, 3)[0];
    const std::set<int>    taken(cells.begin(), cells.end());

    const int end = p.n_kv - LOCAL;
    for (int i = 2*PAGE; i < end; ++i) {
        CHECK(taken.count(i) == 0 || taken.count(i - PAGE));
    }
}

// a key that is no number leaves its page without scores: it comes last, by position
static void test_nan() {
    test_random rnd;

    problem p;
    p.n_kv = p.n_seen = 20*PAGE;
    p.n_range = p.n_kv/PAGE;
    fill(rnd, p);
    p.k[(5*PAGE + 10)*p.d_k + 3] = NAN;

    // of 15 pages of candidates this one is the worst: none of it is read, or its first keys
    for (const int n_here : { 0, 5 }) {
        p.n_heavy = 14*PAGE + n_here;
        const result got = run(p, 5*PAGE, 1);
        for (int i = 0; i < PAGE; ++i) {
            CHECK(i < n_here ? got.out[i] > 0.0f : got.out[i] == 0.0f);
        }
    }
}

// argument: how many
static void test_random_cases() {
    test_random rnd;

    const int n_cases = test_argument(0, 25);
    for (int i = 0; i < n_cases; ++i) {
        test_problem(random_problem(rnd), 2 + i % 7);
    }
}

static const suite cases("sparse-decode-op", [](suite & s) {
    s.add("ties",         test_ties);
    s.add("NaN",          test_nan);
    s.add("random cases", test_random_cases);
});
