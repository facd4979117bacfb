// Which queries of a chunk share a set by the policy `query`, in plain loops over integers, from README.md alone ("Order").
// As h2o-oracle.h.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

// the queries of one head, rounded: [n][d]
template <typename Query>
std::vector<std::vector<int64_t>> h2o_oracle_rounded(Query query, int n, int d) {
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < d; j++) {
            const double x = query(i)[j];
            largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
        }
    }
    int e = 0;
    std::frexp(largest, &e); // 2^(e - 1) <= largest < 2^e

    std::vector<std::vector<int64_t>> res(n, std::vector<int64_t>(d, 0));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < d; j++) {
            const double x = query(i)[j];
            if (std::isfinite(x)) {
                res[i][j] = std::min(127.0, std::max(-127.0, std::nearbyint(std::ldexp(x, 7 - e))));
            }
        }
    }
    return res;
}

// what the queries of a part are split by
inline std::vector<int64_t> h2o_oracle_direction(const std::vector<std::vector<int64_t>> & r, const std::vector<int32_t> & part) {
    const int64_t n = part.size();
    const size_t  d = r[0].size();

    int64_t widest = -1;
    int64_t mean   = 0;
    size_t  c      = 0;
    for (size_t j = 0; j < d; j++) {
        int64_t sum     = 0;
        int64_t squares = 0;
        for (const int32_t i : part) {
            sum     += r[i][j];
            squares += r[i][j]*r[i][j];
        }
        if (n*squares - sum*sum > widest) {
            widest = n*squares - sum*sum;
            mean   = sum/n; // towards zero
            c      = j;
        }
    }

    std::vector<int64_t> u(d, 0);
    for (const int32_t i : part) {
        for (size_t j = 0; j < d; j++) {
            u[j] += (r[i][c] - mean)*r[i][j];
        }
    }

    int64_t most = 0;
    for (const int64_t x : u) {
        most = std::max(most, std::abs(x));
    }
    int b = 0;
    while ((most >> b) > 127) {
        b++;
    }
    for (int64_t & x : u) {
        x = std::floor(std::ldexp((double) x, -b)); // an arithmetic shift
    }
    return u;
}

// `part` ascends
inline std::vector<int32_t> h2o_oracle_split(const std::vector<std::vector<int64_t>> & r, std::vector<int32_t> part) {
    const size_t n = part.size();
    if (n <= 64) {
        return part;
    }
    const std::vector<int64_t> u = h2o_oracle_direction(r, part);

    const auto along = [&](int32_t i) { return std::inner_product(u.begin(), u.end(), r[i].begin(), int64_t(0)); };
    std::stable_sort(part.begin(), part.end(), [&](int32_t a, int32_t b) { return along(a) < along(b); });

    const auto cut = part.begin() + 64*((n + 127)/128);
    std::sort(part.begin(), cut);
    std::sort(cut, part.end());

    std::vector<int32_t>       res    = h2o_oracle_split(r, { part.begin(), cut });
    const std::vector<int32_t> second = h2o_oracle_split(r, { cut, part.end() });
    res.insert(res.end(), second.begin(), second.end());
    return res;
}

// GGML_OP_H2O, ORDER, of one head: which query is where. query: i -> d floats
template <typename Query>
std::vector<int32_t> h2o_oracle_order(Query query, int n, int d) {
    std::vector<int32_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    return h2o_oracle_split(h2o_oracle_rounded(query, n, d), all);
}
