#include "naive.h"

#include "testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

naive_layer::naive_layer(const test_context & ctx, int il) :
    n_head(ctx.model.n_head), n_head_kv(ctx.model.n_head_kv*ctx.model.n_repeat), d_head(ctx.model.d_head), pos(ctx.call().pos),
    q_intra(ctx.q_intra(il)), q(ctx.q(il)), k(ctx.k_cache(il, ctx.n_pos())), v(ctx.v_cache(il, ctx.n_pos())) {
}

naive_softmax naive_attend(
        const naive_layer & layer, int i, int ih, const std::vector<int> & keys, const std::vector<int> & keys_intra) {
    const int    d   = layer.d_head;
    const size_t i_q = ((size_t) i*layer.n_head + ih)*d;

    const auto at_key = [&](const test_kv & kv, int key) {
        return kv.data() + ((size_t) key*layer.n_head_kv + ih/layer.n_group())*d;
    };

    std::vector<double>        w;
    std::vector<const float *> v;
    w.reserve(keys.size() + keys_intra.size());
    v.reserve(keys.size() + keys_intra.size());

    const auto add_logits = [&](const float * q, const std::vector<int> & keys) {
        for (const int key : keys) {
            w.push_back(h2o_oracle_dot(q, at_key(layer.k, key), d)/std::sqrt((double) d));
            v.push_back(at_key(layer.v, key));
        }
    };
    add_logits(layer.q.data()       + i_q, keys);
    add_logits(layer.q_intra.data() + i_q, keys_intra);

    h2o_oracle_softmax(w);

    std::vector<double> o(d, 0.0);
    for (size_t j = 0; j < w.size(); ++j) {
        for (int id = 0; id < d; ++id) {
            o[id] += w[j]*v[j][id];
        }
    }
    return { o, w };
}

std::vector<int> naive_range(int begin, int end) {
    std::vector<int> res;
    for (int i = begin; i < end; ++i) {
        res.push_back(i);
    }
    return res;
}

naive_chunk::naive_chunk(const naive_layer & layer, int pos, int n, const std::vector<std::vector<int>> & memory) {
    const size_t n_mem = memory[0].size();

    chunk_score.assign((size_t) layer.n_head_kv*n, 0.0);
    mem_votes.assign(layer.n_head_kv*n_mem, 0.0);

    for (int i = 0; i < n; ++i) {
        for (int ih = 0; ih < layer.n_head; ++ih) {
            const int ih_kv = ih/layer.n_group();

            // one softmax over memory and chunk; renormalised, its weights are those of each side alone
            const naive_softmax joint = naive_attend(layer, pos - layer.pos + i, ih, memory[ih_kv], naive_range(pos, pos + i + 1));

            out.insert(out.end(), joint.o.begin(), joint.o.end());

            const auto w_chunk = joint.w.begin() + n_mem;
            const double l_mem   = std::accumulate(joint.w.begin(), w_chunk, 0.0);
            const double l_chunk = std::accumulate(w_chunk, joint.w.end(),   0.0);

            for (size_t j = 0; j < n_mem; ++j) {
                mem_votes[ih_kv*n_mem + j] += joint.w[j]/l_mem;
            }
            for (int j = 0; j <= i; ++j) {
                chunk_score[(size_t) ih_kv*n + j] += w_chunk[j]/l_chunk;
            }
        }
    }
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
