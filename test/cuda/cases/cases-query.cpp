#include "cases.h"

#include "cache.h"

#include "../ggml-h2o.h"
#include "device.h"
#include "executor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>

namespace {

struct query_shape {
    ggml_type type;

    int  d;
    int  n_group;
    int  n_head;
    int  n_queries;
    int  pos;
    int  n_local;
    int  n_heavy;
    bool is_moved;
    bool is_new; // a chip with tensor cores, which F32 keys and heads of other sizes do not use
    bool is_mma;

    int n_cells() const { return pos + n_queries; }
    int n_pages() const { return pos/GGML_H2O_PAGE; }
    int n_spans() const { return pos/GGML_H2O_SPAN; }
};

// the three results, one after the other; the index is filled with what the tensors held before
struct query_result {
    std::vector<float>   pages;
    std::vector<int32_t> landmarks;
    std::vector<int32_t> sets;
    int                  n_set;
};

}

static query_shape random_shape(int i, case_random & rnd) {
    static const int sizes[] = { 64, 128, 80, 256, 40, 96 }; // of any multiple of eight

    query_shape s = {};

    s.type      = CACHE_TYPES[i % std::size(CACHE_TYPES)];
    s.d         = sizes[i % 6];
    s.n_group   = 1 + i % 8;
    s.n_head    = 1 + i % 2;
    s.n_queries = rnd.one_in(3) ? rnd.integer(1, 40) : rnd.integer(65, 140);
    s.pos       = i % 3 == 0 ? rnd.integer(2300, 2900) : i % 3 == 1 ? rnd.integer(300, 1000) : rnd.integer(40, 300);
    s.n_local   = rnd.integer(0, s.pos < 100 ? 20 : 90);
    s.n_heavy   = rnd.one_in(5) ? rnd.integer(200, 400) : rnd.integer(1, 100);
    s.is_moved  = rnd.one_in(3);

    if (i % 4 == 1) { // landmarks that are known, but lie in Local
        s.pos     = GGML_H2O_SPAN*rnd.integer(2, 5) + rnd.integer(0, 9);
        s.n_local = rnd.integer(100, 200);
    }
    if (i % 10 == 2) { // no span is complete
        s.pos     = rnd.integer(100, GGML_H2O_SPAN - 1);
        s.n_local = rnd.integer(0, 40);
        s.n_heavy = rnd.integer(1, 50);
    }
    if (i % 10 == 8) { // all candidates
        s.n_heavy = s.pos;
    }
    if (i % 5 == 2) { // fewer than can be needy
        s.n_queries = rnd.integer(0, 1)*GGML_H2O_BLOCK + rnd.integer(1, GGML_H2O_NEEDY - 1);
    }
    if (ggml_is_quantized(s.type)) {
        s.d = (s.d + 31)/32*32;
    }
    s.is_new = i/8 % 2;
    s.is_mma = s.is_new && s.type != GGML_TYPE_F32 && s.d >= 64;
    return s;
}

// by one backend's kernels
static query_result run_query_ops(
        const query_shape & s, const test_cache & k, const device_buffer & q, const device_buffer & lse,
        const std::function<void(ggml_tensor *)> & compute) {
    const ggml_context_ptr owner = new_context();

    ggml_context * ctx = owner.get();

    const size_t n_pages     = (size_t) (s.n_pages() + 1)*s.n_head*s.d;
    const size_t n_landmarks = (size_t) (s.n_spans() + 1)*s.n_head*GGML_H2O_LANDMARKS;

    std::vector<int32_t> before(n_landmarks); // ascending, past every position
    std::iota(before.begin(), before.end(), 1 << 30);

    const device_buffer pages_data(std::vector<float>(n_pages, 7.0f));
    const device_buffer landmarks_data(before);

    ggml_tensor * keys      = k.view(ctx, 0, s.n_cells(), 1, s.n_cells());
    ggml_tensor * pages     = new_tensor(ctx, GGML_TYPE_F32, s.d, s.n_pages() + 1, s.n_head, 1, pages_data.data());
    ggml_tensor * landmarks = new_tensor(ctx, GGML_TYPE_I32, (s.n_spans() + 1)*GGML_H2O_LANDMARKS, s.n_head, 1, 1,
            landmarks_data.data());

    // as calls do: in parts
    for (const auto & [begin, end] : { std::pair(0, s.n_pages()/3), std::pair(s.n_pages()/3, s.n_pages()) }) {
        if (begin < end) {
            compute(ggml_h2o_pages(ctx, keys, pages, begin, end));
        }
    }
    if (s.n_spans() > 0) {
        compute(ggml_h2o_landmarks(ctx, keys, pages, landmarks, 0, s.n_spans()));
    }

    ggml_tensor * set = ggml_h2o_query(ctx,
            new_tensor(ctx, GGML_TYPE_F32, s.d, s.n_head*s.n_group, s.n_queries, 1, q.data()),
            new_tensor(ctx, GGML_TYPE_F32, 1,   s.n_head*s.n_group, s.n_queries, 1, lse.data()),
            keys, pages, landmarks, s.pos, s.n_local, s.n_heavy, 1.0f/sqrtf(s.d));

    const device_buffer out(ggml_nbytes(set));
    set->data = out.data();
    compute(set);

    const float   * p = pages_data.as<float>();
    const int32_t * l = landmarks_data.as<int32_t>();
    const int32_t * o = out.as<int32_t>();

    return { { p, p + n_pages }, { l, l + n_landmarks }, { o, o + ggml_nelements(set) }, (int) set->ne[0] };
}

static bool is_same(const query_result & a, const query_result & b) {
    return memcmp(a.pages.data(), b.pages.data(), a.pages.size()*sizeof(float)) == 0 &&
        a.landmarks == b.landmarks && a.sets == b.sets;
}

// of rows of n positions, ascending, how many of b are not in a; all of them if a row of b is no set
static int n_differ(const std::vector<int32_t> & a, const std::vector<int32_t> & b, int n) {
    int res = 0;
    for (size_t row = 0; row < a.size(); row += n) {
        const auto begin = b.begin() + row;
        if (std::adjacent_find(begin, begin + n, std::greater_equal<int32_t>()) != begin + n) {
            return a.size();
        }
        for (int i = 0; i < n; ++i) {
            res += !std::binary_search(a.begin() + row, a.begin() + row + n, begin[i]);
        }
    }
    return res;
}

bool run_query_case(int i, case_random & rnd, test_report & report) {
    const query_shape s = random_shape(i, rnd);

    const int n_cand = s.pos - std::min(s.n_local, s.pos);

    set_device(s.is_new ? 860 : 750, 16, 99*1024);

    const test_cache k({ s.type, s.n_cells(), s.n_head, s.d, false, s.is_moved, false }, rnd);

    std::vector<float> lses = rnd.uniforms((size_t) s.n_queries*s.n_head*s.n_group, 4.0f);
    for (float & x : lses) {
        x += 5.0f;
    }
    const device_buffer q(rnd.uniforms(lses.size()*s.d, 8.0f));
    const device_buffer lse(lses);

    const query_result expected = run_query_ops(s, k, q, lse, cpu_compute);

    ptx::seed_order(rnd.bits());
    const query_result got = run_query_ops(s, k, q, lse, device_compute);
    ptx::seed_order(rnd.bits());
    const query_result again = run_query_ops(s, k, q, lse, device_compute);

    const auto count = [&](bool has, const char * name) {
        if (has) {
            report.covered[std::string(s.is_mma ? "query mma " : "query ") + name]++;
        }
    };
    count(true, ggml_type_name(s.type));
    count(n_cand <= s.n_heavy,                         "all");
    count(n_cand > s.n_heavy && s.n_spans() == 0,      "no landmarks");
    count(n_cand/GGML_H2O_PAGE > 32 && n_cand > s.n_heavy, "picks pages");
    count(n_cand > s.n_heavy && n_cand < s.n_spans()*GGML_H2O_SPAN, "landmarks in Local");
    count(s.n_queries > GGML_H2O_BLOCK,                "blocks");
    count(s.n_queries % GGML_H2O_BLOCK > 0 && s.n_queries % GGML_H2O_BLOCK < GGML_H2O_NEEDY, "few queries");
    count(s.n_group > 4,                               "many heads");
    count(s.is_moved,                                  "moved");

    double error = 0.0;
    double sum   = 0.0;
    for (size_t j = 0; j < expected.pages.size(); ++j) {
        error += (got.pages[j] - expected.pages[j])*(got.pages[j] - expected.pages[j]);
        sum   += expected.pages[j]*expected.pages[j];
    }
    const int n_landmarks = n_differ(expected.landmarks, got.landmarks, (s.n_spans() + 1)*GGML_H2O_LANDMARKS);
    const int n_members   = n_differ(expected.sets, got.sets, expected.n_set);

    double & worst = report.worst["query members that differ"];
    worst = std::max(worst, (double) n_members/expected.sets.size());

    // rounding may change places at a cut
    const bool ok = is_same(got, again) && error <= 1e-12*sum &&
        n_landmarks <= (int) expected.landmarks.size()/100 && n_members <= 1 + (int) expected.sets.size()/100;

    if (!ok) {
        printf("FAIL query%s %s d=%d n_group=%d n_head=%d n_queries=%d pos=%d n_local=%d n_heavy=%d%s: pages NMSE %.1e, "
                "%d of %zu landmarks and %d of %zu members differ%s\n",
                s.is_mma ? " mma" : "", ggml_type_name(s.type), s.d, s.n_group, s.n_head, s.n_queries, s.pos, s.n_local,
                s.n_heavy, s.is_moved ? " moved" : "",
                error/sum, n_landmarks, expected.landmarks.size(), n_members, expected.sets.size(),
                is_same(got, again) ? "" : ", and other bits in another order of warps");
    }
    return ok;
}
