// The search of the policy `query` in plain loops over doubles, from README.md alone: the index of keys, and what a block
// of queries of one head chooses. As h2o-oracle.h.

#pragma once

#include "h2o-oracle.h"

#include <numeric>

static const int h2o_oracle_page      = 64;  // positions
static const int h2o_oracle_span      = 256;
static const int h2o_oracle_landmarks = 16;  // of a span
static const int h2o_oracle_needy     = 4;   // queries of a block

// A choice of the best n of some scores, ties to the lower index, NaN last; or of fewer: those of `least` and more. A backend rounds: it may decide otherwise where a score is within `tolerance` of the cut, which lies at
// `least`, or between the worst that is in and the best that is out.
struct h2o_oracle_choice {
    std::vector<double> scores;
    std::vector<char>   is_in;

    size_t n_most;
    double least;

    double worst_in = INFINITY;
    double best_out = -INFINITY;

    h2o_oracle_choice(std::vector<double> all, size_t n_most, double least = -INFINITY)
        : scores(std::move(all)), is_in(scores.size(), 0), n_most(std::min(n_most, scores.size())), least(least) {
        for (double & x : scores) {
            x = std::isnan(x) ? -INFINITY : x;
        }
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

    std::vector<int32_t> chosen() const {
        std::vector<int32_t> res;
        for (size_t i = 0; i < is_in.size(); i++) {
            if (is_in[i]) {
                res.push_back(i);
            }
        }
        return res;
    }

    // no rounding can change it: exact ties go by position on every backend
    bool is_clear(double tolerance) const {
        return worst_in == best_out || worst_in - best_out > tolerance;
    }

    // as many others are in, as far as that is clear; those that differ are near the cut; of equal ones the first are in
    bool allows(const std::vector<char> & other, double tolerance) const {
        const size_t n = std::count(other.begin(), other.end(), 1);
        if (n < n_from(least + tolerance) || n > n_from(least - tolerance)) {
            return false;
        }
        const double lowest  = std::min(worst_in, std::max(best_out, least)); // of what is in, and
        const double highest = std::max(best_out, least);                     // of what is out
        std::set<double> left; // scores of which one is out
        for (size_t i = 0; i < scores.size(); i++) {
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

// NaN does not count
inline double h2o_oracle_larger(double a, double b) { return b > a ? b : a; }

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

// the keys of a span that are least like their mean
template <typename Key>
h2o_oracle_choice h2o_oracle_landmarks_of(Key key, int d, int span) {
    std::vector<double> mean(d, 0.0);
    for (int i = 0; i < h2o_oracle_span/h2o_oracle_page; i++) {
        const std::vector<double> of_page = h2o_oracle_mean_key(key, d, span*(h2o_oracle_span/h2o_oracle_page) + i);
        for (int j = 0; j < d; j++) {
            mean[j] += of_page[j];
        }
    }
    std::vector<double> unlike;
    for (int i = 0; i < h2o_oracle_span; i++) {
        const float * k = key(span*h2o_oracle_span + i);
        unlike.push_back(-h2o_oracle_dot(k, mean.data(), d)/std::sqrt(h2o_oracle_dot(k, k, d)));
    }
    return h2o_oracle_choice(unlike, h2o_oracle_landmarks);
}

// what a block of n queries of one head searches by
struct h2o_oracle_search {
    int    d;
    double scale;
    int    n;       // queries
    int    begin;   // the first of them in its chunk
    int    n_near;  // positions before the chunk that each of them sees besides
    int    n_cand;  // candidates: [0, n_cand)
    int    n_heavy;

    const float * means;                // [pages][d]
    std::vector<int32_t> landmarks;     // positions, of the spans that are whole
};

struct h2o_oracle_decision {
    std::vector<int32_t> by_need; // positions
    std::vector<int32_t> others;  // positions that `rest` is about
    h2o_oracle_choice    rest;

    // the choices on the way to it: of queries, of landmarks, of pages
    h2o_oracle_choice needy;
    h2o_oracle_choice wanted;
    h2o_oracle_choice picked;
};

// query: i -> d floats; near: i -> the log-sum-exp of what surrounds it; key: cell -> d floats
template <typename Query, typename Near, typename Key>
h2o_oracle_decision h2o_oracle_query(const h2o_oracle_search & s, Query query, Near near, Key key) {
    const auto logit = [&](int i, const float * k) { return s.scale*h2o_oracle_dot(query(i), k, s.d); };

    // 1: the queries that their surroundings give the least
    std::vector<double> needs;
    for (int i = 0; i < s.n; i++) {
        needs.push_back(std::log(s.n_near + s.begin + i + 1.0) - near(i));
    }
    const h2o_oracle_choice needy(needs, h2o_oracle_needy);

    // 2: the landmarks that they want
    std::vector<int32_t> at;
    std::vector<double>  wants;
    for (const int32_t x : s.landmarks) {
        if (x >= s.n_cand) {
            continue;
        }
        double best = -INFINITY;
        for (const int32_t i : needy.chosen()) {
            best = h2o_oracle_larger(best, logit(i, key(x)) - near(i));
        }
        at.push_back(x);
        wants.push_back(best);
    }
    const h2o_oracle_choice wanted(wants, std::min(64, s.n_heavy/8));

    // 3: the pages to be searched, and what is left behind the last of them
    const int n_whole = s.n_cand/h2o_oracle_page;

    std::vector<double> of_pages(n_whole, -INFINITY);
    for (int i = 0; i < s.n; i++) {
        std::vector<double> logits;
        for (int page = 0; page < n_whole; page++) {
            logits.push_back(logit(i, s.means + (size_t) page*s.d));
        }
        const double most = std::accumulate(logits.begin(), logits.end(), (double) -INFINITY, h2o_oracle_larger);
        for (int page = 0; page < n_whole; page++) {
            of_pages[page] = h2o_oracle_larger(of_pages[page], logits[page] - most);
        }
    }
    if (n_whole > 0) {
        of_pages[0] = INFINITY; // always
    }
    const h2o_oracle_choice picked(of_pages, std::max(32, (s.n_heavy + 5)/6));

    std::vector<int32_t> searched;
    for (int32_t x = 0; x < s.n_cand; x++) {
        if (x/h2o_oracle_page >= n_whole || picked.is_in[x/h2o_oracle_page]) {
            searched.push_back(x);
        }
    }

    // 4: the largest beside what surrounds a query, and the best key of each page
    std::vector<double> best(searched.size(), -INFINITY);
    for (int i = 0; i < s.n; i++) {
        std::vector<double>       logits;
        std::map<int32_t, double> most; // of a page
        double max = near(i);
        for (const int32_t x : searched) {
            logits.push_back(logit(i, key(x)));
            max = h2o_oracle_larger(max, logits.back());

            double & of_page = most.emplace(x/h2o_oracle_page, -INFINITY).first->second;
            of_page = h2o_oracle_larger(of_page, logits.back());
        }
        double sum = std::exp(near(i) - max);
        for (const auto & [page, x] : most) {
            sum += std::exp(x - max);
        }
        for (size_t j = 0; j < searched.size(); j++) {
            best[j] = h2o_oracle_larger(best[j], logits[j] - max - std::log(sum));
        }
    }

    std::vector<int32_t> taken;
    for (const int32_t i : wanted.chosen()) {
        taken.push_back(at[i]);
    }
    std::vector<int32_t> others;
    std::vector<double>  scores;
    for (size_t j = 0; j < searched.size(); j++) {
        if (!std::binary_search(taken.begin(), taken.end(), searched[j])) {
            others.push_back(searched[j]);
            scores.push_back(best[j]);
        }
    }
    const size_t n_rest = std::min(s.n_cand, s.n_heavy) - taken.size();
    const double most   = std::accumulate(best.begin(), best.end(), (double) -INFINITY, h2o_oracle_larger);
    const double least  = std::min(most, std::log(4.0/std::max(s.n_cand, 16384)));

    return { taken, others, h2o_oracle_choice(scores, n_rest, least), needy, wanted, picked };
}
