// The sets of the policy `query` in plain loops over doubles, from README.md alone: the index of keys, and what a block
// of queries of one head wants. As h2o-oracle.h.

#pragma once

#include "h2o-oracle.h"

#include <numeric>

static const int h2o_oracle_page = 64; // positions

// A choice of the best n of some scores, ties to the lower index; or of fewer: those of `least` and more. A backend
// rounds: it may decide otherwise where a score is within `tolerance` of the cut, which lies at `least`, or between the worst
// that is in and the best that is out.
struct h2o_oracle_choice {
    std::vector<double> scores;
    std::vector<char>   is_in;

    size_t n_most;
    double least;

    double worst_in = INFINITY;
    double best_out = -INFINITY;

    h2o_oracle_choice(std::vector<double> all, size_t n_most, double least)
        : scores(std::move(all)), is_in(scores.size(), 0), n_most(std::min(n_most, scores.size())), least(least) {
        std::vector<size_t> order(scores.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });

        const size_t n = n_from(least);
        for (size_t i = 0; i < order.size(); i++) {
            is_in[order[i]] = i < n;
        }
        worst_in = n > 0            ? scores[order[n - 1]] : worst_in;
        best_out = n < order.size() ? scores[order[n]]     : best_out;
    }

    // so many are in if the least score was this one
    size_t n_from(double least) const {
        const size_t n = std::count_if(scores.begin(), scores.end(), [&](double x) { return x >= least; });
        return std::min(n_most, n);
    }

    // as many others are in, as far as that is clear; those that differ are near the cut; of equal ones the first are in, among
    // n_together that are rounded alike
    bool allows(const std::vector<char> & other, double tolerance, size_t n_together) const {
        const size_t n = std::count(other.begin(), other.end(), 1);
        if (n < n_from(least + tolerance) || n > n_from(least - tolerance)) {
            return false;
        }
        const double lowest  = std::min(worst_in, std::max(best_out, least)); // of what is in, and
        const double highest = std::max(best_out, least);                     // of what is out
        std::set<double> left; // scores of which one is out
        for (size_t i = 0; i < scores.size(); i++) {
            if (i % n_together == 0) {
                left.clear();
            }
            const bool is_near = is_in[i] ? scores[i] < highest + tolerance : scores[i] > lowest - tolerance;

            if ((other[i] != is_in[i] && !is_near) || (other[i] && left.count(scores[i]))) {
                return false;
            }
            if (!other[i]) {
                left.insert(scores[i]);
            }
        }
        return true;
    }
};

// key: cell -> d floats, of one KV head
template <typename Key>
std::vector<double> h2o_oracle_mean_key(Key key, int d, int page) {
    std::vector<double> mean(d, 0.0);
    for (int j = 0; j < h2o_oracle_page; j++) {
        for (int i = 0; i < d; i++) {
            mean[i] += key(page*h2o_oracle_page + j)[i]/(double) h2o_oracle_page;
        }
    }
    return mean;
}

// what a block of n queries of one head is asked with
struct h2o_oracle_search {
    int    d;
    double scale;
    int    n;      // queries
    int    n_cand; // candidates: [0, n_cand)
    int    n_heavy;

    const float * means; // [pages][d]
};

// the logarithm of a sum of e^x; NaN counts as 0 in it
inline double h2o_oracle_log_sum(const std::vector<double> & terms) {
    double max = -INFINITY;
    for (const double x : terms) {
        max = x > max ? x : max;
    }
    if (std::isinf(max)) {
        return max;
    }
    double sum = 0.0;
    for (const double x : terms) {
        sum += std::isnan(x) ? 0.0 : std::exp(x - max);
    }
    return max + std::log(sum);
}

// The choice among [0, n_cand), where they are more than n_heavy. Position 0 is a member whatever it is worth.
// query: i -> d floats; near: i -> the log-sum-exp of what query i sees besides; key: cell -> d floats
template <typename Query, typename Near, typename Key>
h2o_oracle_choice h2o_oracle_query(const h2o_oracle_search & s, Query query, Near near, Key key) {
    std::vector<double> scores(s.n_cand, -INFINITY);

    for (int i = 0; i < s.n; i++) {
        const auto logit = [&](const float * k) { return s.scale*h2o_oracle_dot(query(i), k, s.d); };

        std::vector<double> terms = { near(i) };
        for (int x = 0; x < std::min(h2o_oracle_page, s.n_cand); x++) {
            terms.push_back(logit(key(x)));
        }
        for (int page = 1; page < s.n_cand/h2o_oracle_page; page++) {
            terms.push_back(std::log((double) h2o_oracle_page) + logit(s.means + (size_t) page*s.d));
        }
        const double t = h2o_oracle_log_sum(terms);

        for (int x = 0; x < s.n_cand; x++) {
            const double score = logit(key(x)) - t;
            scores[x] = score > scores[x] ? score : scores[x];
        }
    }
    scores[0] = INFINITY;

    return h2o_oracle_choice(scores, s.n_heavy, std::log(4.0/std::max(s.n_cand, 16384)));
}
