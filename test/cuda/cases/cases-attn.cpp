#include "cases.h"

#include "attn-problem.h"
#include "executor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

// How far the kernels may be from plain loops in double precision, as NMSE of each of their results; five to ten times the
// worst of several hundred cases. Selection and lookup have to be exact.
struct attn_limit {
    const char * name;

    bool   is_mma;
    bool   is_large; // logits to a hundred and more, where weights follow the rounding of q and k most
    double nmse;
};

static const attn_limit LIMITS[] = {
    // path, logits       mma    large  NMSE
    { "plain",            false, false, 1e-11 },
    { "plain large",      false, true,  1e-10 },
    { "mma",              true,  false, 3e-6  },
    { "mma large",        true,  true,  5e-5  },
};

// all of them in turn, as far as the heads and the path take them
static ggml_type cache_type(int i, bool is_mma, int d, bool is_trans) {
    const ggml_type type = CACHE_TYPES[i % std::size(CACHE_TYPES)];

    const bool has_blocks = d % 32 == 0 && !is_trans;
    return (type == GGML_TYPE_F32 && is_mma) || (ggml_is_quantized(type) && !has_blocks) ? GGML_TYPE_F16 : type;
}

static attn_shape random_shape(int i, bool only_mma, case_random & rnd) {
    static const int head_sizes[] = { 64, 80, 96, 128, 256 };

    attn_shape s = {};

    // votes are split from 512 rows on, 256 without tensor cores; otherwise what a case costs is the limit
    s.wants_split = rnd.one_in(5);

    const int min_rows = s.wants_split ? 512 : 0;
    const int max_rows = s.wants_split ? 900 : 400;

    s.d         = only_mma ? 64 : head_sizes[i % 5];
    s.is_mma    = only_mma || i/5 % 3 != 2;
    s.n_group   = 1 + i % 8;
    s.n_queries = rnd.integer(1, rnd.one_in(4) ? 200 : 90);
    s.n_queries = std::max((min_rows + s.n_group - 1)/s.n_group, std::min(s.n_queries, max_rows/s.n_group));
    s.n_head    = rnd.integer(1, 2);
    s.is_causal = rnd.one_in(2);
    s.n_near    = s.is_causal && rnd.one_in(2) ? rnd.integer(1, 150) : 0;
    s.n_keys    = s.is_causal ? s.n_near + s.n_queries : rnd.integer(1, rnd.one_in(4) ? 300 : 150);
    s.has_set   = !s.is_causal && !rnd.one_in(4);
    s.n_chunks  = s.has_set ? 1 : rnd.integer(1, 2);
    s.has_prev  = rnd.one_in(2);
    s.is_moved  = rnd.one_in(4);
    s.is_large  = rnd.one_in(4);
    s.v_trans   = rnd.one_in(3);
    s.type_k    = cache_type(i/15*5 + i%5,       s.is_mma, s.d, false);
    s.type_v    = cache_type(i/15*7 + i%5*3 + 1, s.is_mma, s.d, s.v_trans);
    s.has_nan   = rnd.one_in(8);
    s.is_wide   = s.is_mma && s.type_v == GGML_TYPE_BF16 && rnd.one_in(3);

    s.has_blocks = s.has_set && !s.wants_split && rnd.one_in(2);
    if (s.has_blocks) {
        s.n_queries = GGML_H2O_BLOCK + rnd.integer(1, 80);
        s.n_head    = 1;
    }
    return s;
}

static void cover(const attn_shape & s, test_report & report) {
    const std::string path = s.is_mma ? "mma " : "plain ";

    const auto count = [&](bool has, const std::string & name) {
        if (has) {
            report.covered[path + name]++;
        }
    };

    count(true, "d=" + std::to_string(s.d));
    count(true, "group=" + std::to_string(s.n_group));
    count(true, std::string("k=") + ggml_type_name(s.type_k));
    count(true, std::string("v=") + ggml_type_name(s.type_v));
    count(s.is_causal,     "causal");
    count(s.n_near > 0,    "near");
    count(s.has_set,       "set");
    count(s.n_sets() > 1,  "blocks");
    count(s.n_sets() > 1 && s.n_queries % GGML_H2O_BLOCK != 0, "short block");
    count(s.has_prev,      "prev");
    count(s.v_trans,       "v_trans");
    count(s.is_moved,      "moved");
    count(s.is_wide,       "wide");
    count(s.has_nan,       "nan");
    count(s.n_chunks > 1,  "chunks");
    count(s.n_rows() % 16 != 0 && s.n_keys % 16 != 0, "tails");
}

static double nmse(const std::vector<float> & got, const std::vector<double> & expected) {
    double error = 0.0;
    double sum   = 0.0;
    for (size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(expected[i])) {
            error += std::isnan(got[i]) ? 0.0 : INFINITY;
            continue;
        }
        error += (got[i] - expected[i])*(got[i] - expected[i]);
        sum   += expected[i]*expected[i];
    }
    return std::isnan(error) ? INFINITY : sum > 0.0 ? error/sum : error;
}

static bool is_same(const std::vector<float> & a, const std::vector<float> & b) {
    return memcmp(a.data(), b.data(), a.size()*sizeof(float)) == 0;
}

static const attn_limit & limit_of(const attn_shape & s) {
    return *std::find_if(std::begin(LIMITS), std::end(LIMITS), [&](const attn_limit & limit) {
        return limit.is_mma == s.is_mma && limit.is_large == s.is_large;
    });
}

static void print_shape(const attn_shape & s) {
    printf("FAIL attn %s d=%d n_group=%d n_queries=%d n_near=%d n_keys=%d n_head=%d n_chunks=%d%s k=%s v=%s%s%s%s%s%s%s%s%s%s:",
            s.is_mma ? "mma" : "plain", s.d, s.n_group, s.n_queries, s.n_near, s.n_keys, s.n_head, s.n_chunks,
            s.wants_split ? " split" : "", ggml_type_name(s.type_k), ggml_type_name(s.type_v), s.is_causal ? " causal" : "",
            s.has_set ? " set" : "", s.has_blocks ? " blocks" : "", s.has_prev ? " prev" : "",
            s.v_trans ? " v_trans" : "", s.is_moved ? " moved" : "", s.is_large ? " large" : "", s.is_wide ? " wide" : "", s.has_nan ? " nan" : "");
}

bool run_attn_case(int i, bool only_mma, case_random & rnd, test_report & report) {
    const attn_shape   shape = random_shape(i, only_mma, rnd);
    const attn_problem p(shape, rnd);
    cover(shape, report);

    // the order of warps must not change a bit
    ptx::seed_order(rnd.bits());
    const int n_launches = ptx::n_launches();
    const attn_result<float> got = attn_by_kernels(p, shape.n_votes() > 0);
    if (ptx::n_launches() - n_launches == 3) { // the third one adds the partial votes up
        report.covered[shape.is_mma ? "mma split" : "plain split"]++;
    }
    ptx::seed_order(rnd.bits());
    const attn_result<float> again = attn_by_kernels(p, shape.n_votes() > 0);

    // nobody wants votes: one launch, the same output
    const int n_launches_before = ptx::n_launches();
    const attn_result<float> quiet = attn_by_kernels(p, false);
    const bool is_quiet = ptx::n_launches() - n_launches_before == 1 && is_same(got.o, quiet.o) && is_same(got.lse, quiet.lse);

    const bool same = is_quiet && is_same(got.o, again.o) && is_same(got.lse, again.lse) && is_same(got.votes, again.votes);

    const attn_result<double> expected = attn_by_loops(p);

    const double error_o     = nmse(got.o,     expected.o);
    const double error_lse   = nmse(got.lse,   expected.lse);
    const double error_votes = nmse(got.votes, expected.votes);

    const attn_limit & limit = limit_of(shape);

    const auto keep_worst = [&](const char * result, double error) {
        double & worst = report.worst[std::string(limit.name) + " " + result];
        worst = std::max(worst, error);
    };
    keep_worst("o",     error_o);
    keep_worst("lse",   error_lse);
    keep_worst("votes", error_votes);

    const bool ok = same && std::max({ error_o, error_lse, error_votes }) <= limit.nmse;
    if (!ok) {
        print_shape(shape);
        printf(" NMSE %.1e %.1e %.1e of %.1e%s\n", error_o, error_lse, error_votes, limit.nmse,
                same ? "" : ", and other bits in another order of warps or without votes");
    }
    return ok;
}
