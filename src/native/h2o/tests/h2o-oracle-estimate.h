// What the sets of the policy `query` leave out, a page at a time, in plain loops over doubles, from README.md alone
// ("Estimates"). As h2o-oracle.h.

#pragma once

#include "h2o-oracle-query.h"

// The logarithms of how many keys of each page are not in a set, whose members may be repeated: -inf where all of them are, and
// for the first page, which has no estimate.
inline std::vector<double> h2o_oracle_left_out(const std::vector<int32_t> & set, int n_pages) {
    std::vector<std::set<int32_t>> members(n_pages);
    for (const int32_t cell : set) {
        if (cell < n_pages*h2o_oracle_page) {
            members[cell/h2o_oracle_page].insert(cell);
        }
    }
    std::vector<double> res(n_pages, -INFINITY);
    for (int page = 1; page < n_pages; page++) {
        res[page] = std::log((double) h2o_oracle_page - members[page].size());
    }
    return res;
}

// one query, and what it got from other keys
struct h2o_oracle_state {
    int d_k;
    int d_v;

    const float * q;
    const float * o;
    double        lse;
};

// GGML_OP_H2O, ESTIMATE, of one query: o, and lse behind it. left_out: as above; key, value: page -> floats
template <typename Key, typename Value>
std::vector<double> h2o_oracle_estimate(
        const h2o_oracle_state & s, double scale, const std::vector<double> & left_out, Key key, Value value) {
    std::vector<int>    pages;
    std::vector<double> w = { s.lse }; // what the query got before counts as one key

    for (int page = 0; page < (int) left_out.size(); page++) {
        if (left_out[page] >= 0.0) {
            pages.push_back(page);
            w.push_back(scale*h2o_oracle_dot(s.q, key(page), s.d_k) + left_out[page]);
        }
    }
    std::vector<double> res;
    if (pages.empty()) {
        res.assign(s.o, s.o + s.d_v);
        res.push_back(s.lse);
        return res;
    }
    const double lse = h2o_oracle_softmax(w);

    for (int i = 0; i < s.d_v; i++) {
        double sum = w[0]*s.o[i];
        for (size_t x = 0; x < pages.size(); x++) {
            sum += w[1 + x]*value(pages[x])[i];
        }
        res.push_back(sum);
    }
    res.push_back(lse);
    return res;
}
