// GGML_OP_H2O, PAGES, LANDMARKS and QUERY, against the policy's rule in plain loops: random sizes, types and strides, an
// index that grows in steps, ties, NaN, 1 to 8 threads.
//
// Keys and queries are small integers and the scale is a power of two, so all choices but the last are exact, ties too. The
// last one has logarithms: a member may score lower than a position left out by no more than their rounding.

#include "testing.h"

#include "ops/ggml-h2o.h"

#include <algorithm>
#include <cmath>

typedef std::vector<int32_t> positions;

struct problem {
    int d;
    int n_head; // KV heads
    int n_group;
    int n_cells;
    int n_queries;
    int pos;
    int n_local;
    int n_heavy;
    int n_indexed; // positions that the index knew before

    bool      is_broken; // keys with NaN: what is chosen is nobody's business, but it must be a set
    ggml_type type_k;

    std::vector<float> q;   // [n_queries][n_head*n_group][d]
    std::vector<float> lse; // [n_queries][n_head*n_group]
    std::vector<float> k;   // [n_cells][n_head][d], as a cache has it

    float scale() const { return 0.25f; }
    int   n_near() const { return std::min(n_local, pos); }
    int   n_cand() const { return pos - n_near(); }
    int   n_set()  const { return std::min(n_cand(), n_heavy); }

    const float * q_at  (int i, int ih, int ig) const { return q.data() + ((i*n_head + ih)*n_group + ig)*d; }
    float         lse_at(int i, int ih, int ig) const { return lse[(i*n_head + ih)*n_group + ig]; }
    const float * k_at  (int j, int ih)         const { return k.data() + (j*n_head + ih)*d; }
};

template <typename T>
static T pick(test_random & rnd, const std::vector<T> & of) {
    return of[rnd.integer(0, of.size() - 1)];
}

static problem random_problem(test_random & rnd) {
    problem p;
    p.d         = pick<int>(rnd, { 16, 24, 32, 80 });
    p.n_head    = rnd.integer(1, 3);
    p.n_group   = pick<int>(rnd, { 1, 2, 4 });
    p.pos       = pick<int>(rnd, { rnd.integer(1, 300), 64*rnd.integer(1, 20), 256*rnd.integer(1, 5), rnd.integer(1000, 2200) });
    p.n_local   = rnd.integer(0, 2) ? rnd.integer(0, std::min(p.pos - 1, 300)) : 0;
    p.n_heavy   = pick<int>(rnd, { rnd.integer(1, 8), rnd.integer(8, 100), rnd.integer(200, 800) });
    p.n_queries = rnd.integer(1, 150);
    p.n_cells   = p.pos + p.n_queries;
    p.n_indexed = rnd.integer(0, p.pos);
    p.is_broken = rnd.integer(0, 9) == 0;
    p.type_k    = pick<ggml_type>(rnd, { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 });

    const int max = rnd.integer(0, 3); // 0: all is equal, and ties decide

    for (int i = 0; i < p.n_queries*p.n_head*p.n_group; ++i) {
        const bool is_nan = rnd.integer(0, 199) == 0;
        for (int j = 0; j < p.d; ++j) {
            p.q.push_back(is_nan ? NAN : rnd.integer(-max, max));
        }
        p.lse.push_back(rnd.integer(0, 199) == 0 ? NAN : rnd.integer(0, 80)*0.125f);
    }
    for (int i = 0; i < p.n_cells*p.n_head*p.d; ++i) {
        p.k.push_back(p.is_broken && rnd.integer(0, 99) == 0 ? NAN : rnd.integer(-max, max));
    }
    return p;
}

//
// the rule
//

struct scored {
    double  score;
    int32_t id;
};

// the n best, ascending: ties to the lower id, NaN as -inf
static positions best(std::vector<scored> all, size_t n) {
    for (scored & s : all) {
        s.score = std::isnan(s.score) ? -INFINITY : s.score;
    }
    std::stable_sort(all.begin(), all.end(), [](const scored & a, const scored & b) { return a.score > b.score; });
    all.resize(std::min(n, all.size()));

    positions res;
    for (const scored & s : all) {
        res.push_back(s.id);
    }
    std::sort(res.begin(), res.end());
    return res;
}

static double larger(double max, double x) {
    return x > max ? x : max; // NaN does not count
}

static double dot(const float * a, const float * b, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        sum += (double) a[i]*b[i];
    }
    return sum;
}

static std::vector<float> mean_of(const problem & p, int ih, int begin, int n) {
    std::vector<float> res(p.d);
    for (int j = begin; j < begin + n; ++j) {
        for (int i = 0; i < p.d; ++i) {
            res[i] += p.k_at(j, ih)[i];
        }
    }
    for (float & x : res) {
        x /= n;
    }
    return res;
}

static positions landmarks_of(const problem & p, int ih, int span) {
    const std::vector<float> mean = mean_of(p, ih, span*GGML_H2O_SPAN, GGML_H2O_SPAN);

    std::vector<scored> all;
    for (int j = span*GGML_H2O_SPAN; j < (span + 1)*GGML_H2O_SPAN; ++j) {
        // in F32, or ties would not be the same
        const float cosine = (float) dot(p.k_at(j, ih), mean.data(), p.d)/std::sqrt((float) dot(p.k_at(j, ih), p.k_at(j, ih), p.d));
        all.push_back({ -cosine, j });
    }
    return best(all, GGML_H2O_LANDMARKS);
}

// what a block of queries chooses: exactly these by need, then the rest of H by score among others
struct choice {
    positions           by_need;
    std::vector<double> score; // of every position, -inf unless it is searched and not chosen by need
};

static choice choose(const problem & p, int ih, int begin, int end) {
    std::vector<scored> needs;
    for (int i = begin; i < end; ++i) {
        float sum = 0.0f;
        for (int ig = 0; ig < p.n_group; ++ig) {
            sum += p.lse_at(i, ih, ig);
        }
        needs.push_back({ -(sum/p.n_group - logf(p.n_near() + i + 1)), i });
    }

    std::vector<scored> wanted;
    for (int span = 0; span < p.pos/GGML_H2O_SPAN; ++span) {
        for (const int32_t x : landmarks_of(p, ih, span)) {
            double max = -INFINITY;
            for (const int32_t i : best(needs, GGML_H2O_NEEDY)) {
                for (int ig = 0; ig < p.n_group; ++ig) {
                    max = larger(max, dot(p.q_at(i, ih, ig), p.k_at(x, ih), p.d)*p.scale() - p.lse_at(i, ih, ig));
                }
            }
            if (x < p.n_cand()) {
                wanted.push_back({ max, x });
            }
        }
    }
    choice res;
    res.by_need = best(wanted, std::min(64, p.n_heavy/4));

    // queries averaged over the group
    std::vector<std::vector<float>> q;
    std::vector<double>             lse;
    for (int i = begin; i < end; ++i) {
        q.emplace_back(p.d);
        lse.push_back(0.0);
        for (int ig = 0; ig < p.n_group; ++ig) {
            for (int j = 0; j < p.d; ++j) {
                q.back()[j] += p.q_at(i, ih, ig)[j]/p.n_group;
            }
            lse.back() += p.lse_at(i, ih, ig)/p.n_group;
        }
    }

    std::vector<scored> pages;
    for (int page = 0; page < p.n_cand()/GGML_H2O_PAGE; ++page) {
        const std::vector<float> mean = mean_of(p, ih, page*GGML_H2O_PAGE, GGML_H2O_PAGE);

        double max = -INFINITY;
        for (size_t i = 0; i < q.size(); ++i) {
            max = larger(max, dot(q[i].data(), mean.data(), p.d)*p.scale() - lse[i]);
        }
        pages.push_back({ max, page });
    }
    const int n_pages = pages.size();

    positions searched;
    for (const int32_t page : best(pages, std::max(16, (2*p.n_heavy + GGML_H2O_PAGE - 1)/GGML_H2O_PAGE))) {
        for (int j = 0; j < GGML_H2O_PAGE; ++j) {
            searched.push_back(page*GGML_H2O_PAGE + j);
        }
    }
    for (int x = n_pages*GGML_H2O_PAGE; x < p.n_cand(); ++x) {
        searched.push_back(x);
    }

    res.score.assign(p.n_cand(), -INFINITY);
    for (size_t i = 0; i < q.size(); ++i) {
        std::vector<double> s;
        double sum = std::exp(lse[i]);
        for (const int32_t x : searched) {
            s.push_back(dot(q[i].data(), p.k_at(x, ih), p.d)*p.scale());
            sum += std::exp(s.back());
        }
        for (size_t j = 0; j < searched.size(); ++j) {
            res.score[searched[j]] = larger(res.score[searched[j]], s[j] - std::log(sum));
        }
    }
    for (const int32_t x : res.by_need) {
        res.score[x] = -INFINITY;
    }
    return res;
}

static void check_set(const problem & p, int ih, int begin, int end, const positions & set) {
    CHECK((int) set.size() == p.n_set());
    for (size_t i = 0; i < set.size(); ++i) {
        CHECK(set[i] >= 0 && set[i] < p.n_cand() && (i == 0 || set[i] > set[i - 1]));
    }
    if (p.is_broken || p.n_set() == p.n_cand()) {
        return;
    }

    const choice expected = choose(p, ih, begin, end);

    CHECK(std::includes(set.begin(), set.end(), expected.by_need.begin(), expected.by_need.end()));

    scored worst = { INFINITY, -1 }; // member, the higher position on a tie
    scored left  = { -INFINITY, -1 }; // not a member, the lower position on a tie
    for (int x = 0; x < p.n_cand(); ++x) {
        if (std::binary_search(expected.by_need.begin(), expected.by_need.end(), x)) {
            continue;
        }
        const bool is_member = std::binary_search(set.begin(), set.end(), x);
        if (is_member && expected.score[x] <= worst.score) {
            worst = { expected.score[x], x };
        }
        if (!is_member && expected.score[x] > left.score) {
            left = { expected.score[x], x };
        }
    }
    CHECK(worst.score >= left.score - 1e-4);
    // exact for a block of one query: its logarithm is one for all
    CHECK(end - begin > 1 || worst.score != left.score || left.id == -1 || worst.id < left.id);
}

static void test_problem(const problem & p, int n_threads) {
    const int n_pages = p.pos/GGML_H2O_PAGE;
    const int n_spans = p.pos/GGML_H2O_SPAN;
    const int n_heads = p.n_head*p.n_group;

    test_graph g;
    ggml_context * ctx = g.ctx.get();

    ggml_tensor * q         = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p.d, n_heads, p.n_queries);
    ggml_tensor * lse       = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_heads, p.n_queries);
    ggml_tensor * cells     = ggml_new_tensor_3d(ctx, p.type_k, p.d, p.n_head, p.n_cells);
    ggml_tensor * all_pages = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, p.d, std::max(1, n_pages) + 1, p.n_head);
    ggml_tensor * all_marks = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, (n_spans + 1)*GGML_H2O_LANDMARKS, p.n_head);

    ggml_tensor * k         = ggml_permute(ctx, cells, 0, 2, 1, 3);
    ggml_tensor * pages     = all_pages;
    ggml_tensor * landmarks = all_marks;

    // as two calls would
    const int steps[] = { 0, p.n_indexed, p.pos };
    for (int i = 0; i < 2; ++i) {
        const int begin = steps[i];
        const int end   = steps[i + 1];
        if (begin/GGML_H2O_PAGE < end/GGML_H2O_PAGE) {
            pages = ggml_h2o_pages(ctx, k, pages, begin/GGML_H2O_PAGE, end/GGML_H2O_PAGE);
        }
        if (begin/GGML_H2O_SPAN < end/GGML_H2O_SPAN) {
            landmarks = ggml_h2o_landmarks(ctx, k, pages, landmarks, begin/GGML_H2O_SPAN, end/GGML_H2O_SPAN);
        }
    }
    ggml_tensor * set = ggml_h2o_query(ctx, q, lse, k, pages, landmarks, p.pos, p.n_local, p.n_heavy, p.scale());

    CHECK(set->ne[0] == p.n_set() && set->ne[1] == p.n_head && set->ne[2] == (p.n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK);

    g.alloc();
    test_set(q,   p.q);
    test_set(lse, p.lse);
    // where the index has nothing yet: what must not be read
    test_set(all_pages, std::vector<float>(ggml_nelements(all_pages), 1e6f));
    test_set(all_marks, positions(ggml_nelements(all_marks), p.n_cand() - 1));

    std::vector<uint8_t> data(ggml_nbytes(cells));
    ggml_get_type_traits_cpu(p.type_k)->from_float(p.k.data(), data.data(), p.k.size());
    test_set(cells, data);

    g.compute({ set }, n_threads);

    const std::vector<float> got_pages = test_get<float>(all_pages);
    const positions          got_marks = test_get<int32_t>(all_marks);
    const positions          got_sets  = test_get<int32_t>(set);

    for (int ih = 0; ih < p.n_head; ++ih) {
        for (int i = 0; i < n_pages && !p.is_broken; ++i) {
            const float * got = got_pages.data() + (ih*all_pages->ne[1] + i)*p.d;
            CHECK(std::vector<float>(got, got + p.d) == mean_of(p, ih, i*GGML_H2O_PAGE, GGML_H2O_PAGE));
        }
        for (int i = 0; i < n_spans && !p.is_broken; ++i) {
            const int32_t * got = got_marks.data() + ih*all_marks->ne[0] + i*GGML_H2O_LANDMARKS;
            CHECK(positions(got, got + GGML_H2O_LANDMARKS) == landmarks_of(p, ih, i));
        }
        for (int ib = 0; ib < set->ne[2]; ++ib) {
            const int32_t * got = got_sets.data() + (ib*p.n_head + ih)*p.n_set();

            check_set(p, ih, ib*GGML_H2O_BLOCK, std::min((ib + 1)*GGML_H2O_BLOCK, p.n_queries), positions(got, got + p.n_set()));
        }
    }
}

// argument: how many random cases
int main(int argc, char ** argv) {
    test_random rnd;

    const int n_cases = argc > 1 ? atoi(argv[1]) : 150;
    for (int i = 0; i < n_cases; ++i) {
        test_problem(random_problem(rnd), i % 4 ? 1 : 2 + i/4 % 7);
    }
    printf("H2O query ops: checks passed\n");
    return 0;
}
