// Medians with their spread, of what the repetitions of a run have measured.

#pragma once

#include <algorithm>
#include <vector>

struct spread {
    double median, low, high;
};

// x has a value or more
inline spread spread_of(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return { (x[(x.size() - 1)/2] + x[x.size()/2])/2, x.front(), x.back() };
}

// of value(0) ... value(n - 1)
template <typename F> spread spread_over(int n, F value) {
    std::vector<double> x;
    for (int i = 0; i < n; ++i) {
        x.push_back(value(i));
    }
    return spread_of(x);
}
