#include "cases.h"

#include "../ggml-h2o.h"
#include "tests/h2o-oracle.h"
#include "device.h"
#include "executor.h"

#include <climits>
#include <cstdio>
#include <cstring>

namespace {

struct select_problem {
    int n_head;
    int pos;
    int n_local;
    int n_heavy;

    ggml_h2o_tracked tracked;

    int n_mem_row;
    int n_chunk_row;

    std::vector<int32_t> mem_pos;     // [n_head][n_mem_row]
    std::vector<float>   mem_score;   // [n_head][n_mem_row]
    std::vector<float>   chunk_score; // [n_head][n_chunk_row]

    int n_set() const { return std::min(pos, n_local + n_heavy); }
};

}

static const int N_THREADS = 1024; // of selection's block

static float random_score(int kind, case_random & rnd) {
    static const float ties[]    = { 0.0f, -0.0f, 1.0f }; // the zeros are equal
    static const float special[] = { NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1.0f, -1.0f };

    switch (kind) {
        case 0:  return rnd.uniform(-1.0f, 10.0f);
        case 1:  return ties[rnd.integer(0, 2)];
        default: return special[rnd.integer(0, 6)];
    }
}

// has_many: all scores the same, and more of them than 15 bits count
static select_problem random_problem(bool has_many, case_random & rnd) {
    static const int sizes[] = { 0, 1, 5, 37, 511, 1024, 1500 }; // a block is 1024 threads

    select_problem p;

    p.n_head  = rnd.integer(1, 3);
    p.n_local = rnd.one_in(3) ? rnd.integer(0, 1)*20 : rnd.integer(0, 599);
    p.n_heavy = rnd.one_in(4) ? rnd.integer(0, 2)*1400 : rnd.integer(0, 599);
    if (p.n_local + p.n_heavy == 0) {
        p.n_heavy = 7;
    }

    ggml_h2o_tracked & t = p.tracked;
    t.n_mem     = sizes[rnd.integer(0, 6)];
    t.n_chunk   = sizes[rnd.integer(0, 6)];
    if (has_many) {
        t.n_chunk = 34000;
        p.n_heavy = 100;
    }
    t.chunk_pos = t.n_mem + rnd.integer(0, 399);
    t.mem_end   = rnd.one_in(3) ? rnd.integer(0, t.chunk_pos) : INT_MAX;

    p.pos = std::max(1, t.chunk_pos + t.n_chunk + (rnd.one_in(3) ? rnd.integer(0, 99) : 0));
    if (rnd.one_in(4) && !has_many) {
        p.pos = rnd.integer(1, p.pos);
    }

    // rows are longer than what counts, as the views into the state are
    p.n_mem_row   = t.n_mem   + 3;
    p.n_chunk_row = t.n_chunk + 5;

    const int kind = rnd.integer(0, 2);

    p.mem_pos.assign((size_t) p.n_mem_row*p.n_head, -1);
    p.mem_score.resize(p.mem_pos.size());
    p.chunk_score.resize((size_t) p.n_chunk_row*p.n_head);

    for (int ih = 0; ih < p.n_head; ++ih) {
        const std::vector<int32_t> of_head = rnd.ascending(t.n_mem, t.chunk_pos);
        std::copy(of_head.begin(), of_head.end(), p.mem_pos.begin() + (size_t) ih*p.n_mem_row);
    }
    for (float & x : p.mem_score) {
        x = random_score(kind, rnd);
    }
    for (float & x : p.chunk_score) {
        x = has_many ? 1.0f : random_score(kind, rnd);
    }
    return p;
}

// the positions of one head whose scores count
static std::map<int, float> tracked_scores(const select_problem & p, int ih) {
    const ggml_h2o_tracked & t = p.tracked;

    std::map<int, float> res;
    for (int i = 0; i < t.n_mem; ++i) {
        const size_t at = (size_t) ih*p.n_mem_row + i;
        if (p.mem_pos[at] < t.mem_end) {
            res[p.mem_pos[at]] = p.mem_score[at];
        }
    }
    for (int i = 0; i < t.n_chunk; ++i) {
        res[t.chunk_pos + i] = p.chunk_score[(size_t) ih*p.n_chunk_row + i];
    }
    return res;
}

static void cover(const select_problem & p, const std::vector<int32_t> & set, test_report & report) {
    const auto count = [&](bool has, const char * name) {
        if (has) {
            report.covered[std::string("select ") + name]++;
        }
    };

    std::map<float, int> n_of_score;
    bool has_nan = false;
    for (const float x : p.chunk_score) {
        n_of_score[std::isnan(x) ? -INFINITY : x]++;
        has_nan = has_nan || std::isnan(x);
    }
    const int n_tracked = p.tracked.n_mem + p.tracked.n_chunk;

    count(n_of_score.size() < p.chunk_score.size(), "ties");
    count(has_nan, "nan");
    count(n_tracked < p.n_heavy && !set.empty(), "fills");
    count(p.tracked.mem_end < p.tracked.chunk_pos, "removed");
    count(n_tracked > N_THREADS, "rounds");
    count(n_tracked > INT16_MAX && n_of_score.size() == 1, "many ties");
}

bool run_select_case(int i, case_random & rnd, test_report & report) {
    set_device(900, 16, 227*1024);

    const select_problem p = random_problem(i == 0, rnd);

    std::vector<int32_t> expected_set;
    std::vector<float>   expected_score;
    for (int ih = 0; ih < p.n_head; ++ih) {
        const std::map<int, float> scores = tracked_scores(p, ih);

        for (const int32_t member : h2o_oracle_select(scores, p.pos, p.n_local, p.n_heavy)) {
            const auto it = scores.find(member);
            expected_set.push_back(member);
            expected_score.push_back(it == scores.end() ? 0.0f : it->second);
        }
    }

    const device_buffer mem_pos    (p.mem_pos);
    const device_buffer mem_score  (p.mem_score);
    const device_buffer chunk_score(p.chunk_score);
    const device_buffer right_set  (expected_set); // so that a wrong one cannot lead lookup out of it

    const ggml_context_ptr owner = new_context();

    ggml_context * ctx = owner.get();

    ggml_tensor * mp = new_tensor(ctx, GGML_TYPE_I32, p.n_mem_row,   p.n_head, 1, 1, mem_pos.data());
    ggml_tensor * ms = new_tensor(ctx, GGML_TYPE_F32, p.n_mem_row,   p.n_head, 1, 1, mem_score.data());
    ggml_tensor * cs = new_tensor(ctx, GGML_TYPE_F32, p.n_chunk_row, p.n_head, 1, 1, chunk_score.data());

    ggml_tensor * select = ggml_h2o_select(ctx, mp, ms, cs, p.tracked, p.pos, p.n_local, p.n_heavy);

    ggml_tensor * lookup = ggml_h2o_lookup(ctx,
            new_tensor(ctx, GGML_TYPE_I32, p.n_set(), p.n_head, 1, 1, right_set.data()), mp, ms, cs, p.tracked);

    const device_buffer set  (ggml_nbytes(select));
    const device_buffer score(ggml_nbytes(lookup));
    select->data = set.data();
    lookup->data = score.data();

    ptx::seed_order(rnd.bits());
    device_compute(select);
    device_compute(lookup);

    cover(p, expected_set, report);

    const bool ok_set   = memcmp(set.data(),   expected_set.data(),   ggml_nbytes(select)) == 0;
    const bool ok_score = memcmp(score.data(), expected_score.data(), ggml_nbytes(lookup))   == 0;

    if (!ok_set || !ok_score) {
        printf("FAIL %s pos=%d n_local=%d n_heavy=%d n_mem=%d mem_end=%d chunk_pos=%d n_chunk=%d\n",
                ok_set ? "lookup" : "select", p.pos, p.n_local, p.n_heavy,
                p.tracked.n_mem, p.tracked.mem_end, p.tracked.chunk_pos, p.tracked.n_chunk);
    }
    return ok_set && ok_score;
}
