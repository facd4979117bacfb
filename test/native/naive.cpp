#include "naive.h"

#include "testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

naive_layer::naive_layer(const test_context & ctx, int il) :
    n_head(ctx.model.n_head), n_head_kv(ctx.model.n_head_kv), d_head(ctx.model.d_head), pos(ctx.call().pos),
    q_intra(ctx.q_intra(il)), q(ctx.q(il)), k(ctx.k_cache(il, ctx.n_pos())), v(ctx.v_cache(il, ctx.n_pos())) {
}

naive_chunk::naive_chunk(const naive_layer & l, int pos, int n, const std::vector<std::vector<int>> & memory) {
    const int d     = l.d_head;
    const int n_mem = memory[0].size();

    const h2o_oracle_shape shape  = { d, d, l.n_head/l.n_head_kv, l.n_head_kv, n, 1 };
    const size_t           n_rows = shape.row(1, 0, 0);

    const auto at = [&](const test_kv & kv, int cell, int h) { return kv.data() + ((size_t) cell*l.n_head_kv + h)*d; };

    const auto attend = [&](const std::vector<float> & q, auto cells, const float * o, const float * lse, int n_votes) {
        return h2o_oracle_attn(shape, 1.0/std::sqrt((double) d), q.data() + (size_t) (pos - l.pos)*l.n_head*d, cells,
                [&](int cell, int h)        { return at(l.k, cell, h); },
                [&](int cell, int h, int i) { return at(l.v, cell, h)[i]; }, o, lse, n_votes);
    };

    std::vector<double> res = attend(l.q_intra, [&](int, int i, int) {
        std::vector<int> seen(i + 1);
        std::iota(seen.begin(), seen.end(), pos);
        return seen;
    }, nullptr, nullptr, n);
    chunk_score.assign(res.begin() + (d + 1)*n_rows, res.end());

    if (n_mem > 0) {
        const std::vector<float> intra(res.begin(), res.begin() + (d + 1)*n_rows);

        res = attend(l.q, [&](int, int, int head) { return memory[head/shape.n_group]; }, intra.data(), intra.data() + d*n_rows, n_mem);
        mem_votes.assign(res.begin() + (d + 1)*n_rows, res.end());
    }
    out.assign(res.begin(), res.begin() + d*n_rows);
}

template <typename T>
static double nmse(const std::vector<float> & got, const std::vector<T> & expected) {
    CHECK(got.size() == expected.size() && !got.empty());

    double error = 0.0;
    double power = 0.0;
    for (size_t i = 0; i < got.size(); ++i) {
        error += ((double) got[i] - expected[i])*((double) got[i] - expected[i]);
        power += (double) expected[i]*expected[i];
    }
    return error/power;
}

double naive_nmse(const std::vector<float> & got, const std::vector<double> & expected) { return nmse(got, expected); }
double naive_nmse(const std::vector<float> & got, const std::vector<float>  & expected) { return nmse(got, expected); }

//
// naive_replay
//

// keeps NaN
static void raise(double & worst, double error) {
    if (!(error <= worst)) {
        worst = error;
    }
}

void naive_replay::check_call() {
    const h2o_call call = ctx.call();

    if (call.path == H2O_PATH_DENSE) {
        return; // leaves the state as it is
    }
    if (call.pos == 0) {
        heads.clear();
    }

    const std::vector<test_trace> trace = ctx.trace();
    CHECK((int) trace.size() == ctx.model.n_layer*call.n_chunks);

    for (int il = 0; il < ctx.model.n_layer; ++il) {
        const naive_layer layer(ctx, il);

        std::vector<double> out;
        int pos = call.pos;
        for (int ic = 0; ic < call.n_chunks; ++ic) {
            const test_trace & t = trace[il*call.n_chunks + ic];
            CHECK(t.il == il && t.pos == pos);

            std::vector<std::vector<int>> memory;
            for (int ih = 0; ih < t.n_heads; ++ih) {
                memory.emplace_back(t.mem_pos.begin() + ih*t.n_mem, t.mem_pos.begin() + (ih + 1)*t.n_mem);
            }
            const naive_chunk expected(layer, t.pos, t.n_chunk, memory);
            out.insert(out.end(), expected.out.begin(), expected.out.end());

            for (int ih = 0; ih < t.n_heads; ++ih) {
                check_head(t, ih, memory[ih], expected);
            }
            pos += t.n_chunk;
        }
        CHECK(pos == call.pos + call.n_tokens);

        raise(nmse_out, naive_nmse(ctx.out(il), out));
    }
}

void naive_replay::check_head(const test_trace & t, int ih, const std::vector<int> & memory, const naive_chunk & expected) {
    const h2o_info info = h2o_get_info(ctx.get());

    tracked_head & head = heads[{ t.il, ih }];

    CHECK((t.n_mem == 0) == (t.pos == 0));

    if (t.n_mem > 0) {
        CHECK(memory == h2o_oracle_select(head.engine, t.pos, info.n_local, info.n_heavy));

        if (!head.heavy.empty()) {
            n_selections++;
            n_turnovers += !std::includes(memory.begin(), memory.end(), head.heavy.begin(), head.heavy.end());
        }
    }

    tracked_head next;
    next.heavy = memory;
    next.heavy.erase(std::lower_bound(next.heavy.begin(), next.heavy.end(), t.pos - (int) info.n_local), next.heavy.end());

    const auto add = [&](int p, float got, double want) {
        raise(error_score, std::fabs(got - want)/want);
        next.engine[p] = got;
        next.naive [p] = want;
    };

    for (int j = 0; j < t.n_mem; ++j) {
        const auto it = head.naive.find(memory[j]);

        add(memory[j], t.mem_score[ih*t.n_mem + j], (it == head.naive.end() ? 0.0 : it->second) + expected.mem_votes[ih*t.n_mem + j]);
    }
    for (int i = 0; i < t.n_chunk; ++i) {
        add(t.pos + i, t.chunk_score[ih*t.n_chunk + i], expected.chunk_score[ih*t.n_chunk + i]);
    }
    head = next;
}

void naive_replay::truncate(int pos) {
    for (auto & [_, head] : heads) {
        head.engine.erase(head.engine.lower_bound(pos), head.engine.end());
        head.naive .erase(head.naive .lower_bound(pos), head.naive .end());
    }
}
