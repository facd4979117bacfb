// Selection and attention in plain loops over doubles, from the rules of README.md alone. Shares nothing with the engine
// and knows no tensor: positions and floats go in. For test-backend-ops and for test/native.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

// Rule 3: the set of a chunk that begins at pos. tracked: scores by position.
inline std::vector<int32_t> h2o_oracle_select(const std::map<int32_t, float> & tracked, int pos, int n_local, int n_heavy) {
    const int local_begin = std::max(0, pos - n_local);

    std::vector<std::pair<float, int32_t>> candidates;
    for (const auto & [p, score] : tracked) {
        if (p < local_begin) {
            candidates.emplace_back(std::isnan(score) ? -INFINITY : score, p);
        }
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto & a, const auto & b) { return a.first > b.first; });

    std::set<int32_t> res;
    for (size_t i = 0; i < candidates.size() && (int) i < n_heavy; i++) {
        res.insert(candidates[i].second);
    }
    for (int32_t p = 0; (int) res.size() < std::min(n_heavy, local_begin); p++) {
        res.insert(p);
    }
    for (int32_t p = local_begin; p < pos; p++) {
        res.insert(p);
    }
    return { res.begin(), res.end() };
}

template <typename X, typename Y>
double h2o_oracle_dot(const X * x, const Y * y, int n) {
    double res = 0.0;
    for (int i = 0; i < n; i++) {
        res += (double) x[i]*y[i];
    }
    return res;
}

// logits become weights -> their log-sum-exp
inline double h2o_oracle_softmax(std::vector<double> & logits) {
    const double m = *std::max_element(logits.begin(), logits.end());

    double l = 0.0;
    for (double & x : logits) {
        x  = std::exp(x - m);
        l += x;
    }
    for (double & x : logits) {
        x /= l;
    }
    return m + std::log(l);
}

struct h2o_oracle_shape {
    int d_k;
    int d_v;
    int n_group;
    int n_head_kv;
    int n_queries; // of a chunk
    int n_chunks;

    int n_head() const { return n_group*n_head_kv; }

    // of q, o and lse, which are by token and head
    size_t row(int chunk, int query, int head) const { return ((size_t) chunk*n_queries + query)*n_head() + head; }
};

// GGML_OP_H2O, ATTN (rules 1, 2, 4, 5 and 6), as the op lays it out: o, lse, and votes [n_chunks][n_head_kv][n_votes].
//
// q:     [row][d_k]
// cells: (chunk, query, head) -> the cells that a query sees, in the order of its votes
// key:   (cell, KV head)      -> d_k floats
// value: (cell, KV head, i)   -> a float
// o, lse: what other keys gave, or null: it is merged into o
template <typename Cells, typename Key, typename Value>
std::vector<double> h2o_oracle_attn(const h2o_oracle_shape & s, double scale, const float * q,
        Cells cells, Key key, Value value, const float * o, const float * lse, int n_votes) {
    const size_t n_rows = s.row(s.n_chunks, 0, 0);

    std::vector<double> res((s.d_v + 1)*n_rows + (size_t) s.n_chunks*s.n_head_kv*n_votes, 0.0);

    for (int c = 0; c < s.n_chunks; c++) {
        for (int i = 0; i < s.n_queries; i++) {
            for (int head = 0; head < s.n_head(); head++) {
                const int    h    = head/s.n_group;
                const size_t row  = s.row(c, i, head);
                const auto   seen = cells(c, i, head);

                std::vector<double> w;
                for (const int cell : seen) {
                    w.push_back(scale*h2o_oracle_dot(q + row*s.d_k, key(cell, h), s.d_k));
                }
                const double own   = h2o_oracle_softmax(w);
                const double share = lse ? 1.0/(1.0 + std::exp(lse[row] - own)) : 1.0; // of these keys in the output

                res[n_rows*s.d_v + row] = own;
                for (int j = 0; j < s.d_v; j++) {
                    double sum = 0.0;
                    for (size_t x = 0; x < seen.size(); x++) {
                        sum += w[x]*value(seen[x], h, j);
                    }
                    res[row*s.d_v + j] = share*sum + (o ? (1.0 - share)*o[row*s.d_v + j] : 0.0);
                }
                for (size_t x = 0; n_votes > 0 && x < seen.size(); x++) {
                    res[(s.d_v + 1)*n_rows + ((size_t) c*s.n_head_kv + h)*n_votes + x] += w[x];
                }
            }
        }
    }
    return res;
}
