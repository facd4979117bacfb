// Random numbers that are the same wherever the seed is.

#pragma once

#include <cstdint>
#include <random>
#include <vector>

struct case_random {
    std::mt19937 engine;

    explicit case_random(uint32_t seed) : engine(seed) {}

    uint32_t bits() { return engine(); }

    int integer(int lo, int hi) { return lo + (int) (engine() % (uint32_t) (hi - lo + 1)); }

    bool one_in(int n) { return integer(1, n) == 1; }

    float uniform(float lo, float hi) { return lo + (hi - lo)*(engine() >> 8)*(1.0f/(1 << 24)); }

    std::vector<float> uniforms(size_t n, float limit) {
        std::vector<float> x(n);
        for (float & xi : x) {
            xi = uniform(-limit, limit);
        }
        return x;
    }

    // n of the numbers [0, n_all), ascending
    std::vector<int32_t> ascending(int n, int n_all) {
        std::vector<int32_t> res;
        for (int i = 0; i < n_all && (int) res.size() < n; ++i) {
            if (integer(1, n_all - i) <= n - (int) res.size()) {
                res.push_back(i);
            }
        }
        return res;
    }
};
