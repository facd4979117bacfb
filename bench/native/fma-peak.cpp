#include "fma-peak.h"

#include <chrono>
#include <thread>
#include <vector>

#if defined(__AVX512F__)
static constexpr int WIDTH = 16;
#elif defined(__AVX__)
static constexpr int WIDTH = 8;
#else
static constexpr int WIDTH = 4;
#endif

typedef float vec __attribute__((vector_size(WIDTH*sizeof(float))));

// independent chains: more than latency times units of any machine, fewer than registers
static constexpr int N_CHAINS = 12;

static float run(long n) {
    vec acc[N_CHAINS];
    for (int i = 0; i < N_CHAINS; ++i) {
        acc[i] = vec{} + 0.001f*i;
    }
    vec a = vec{} + 0.999f;
    vec b = vec{} + 0.001f;
    for (long i = 0; i < n; ++i) {
        for (int j = 0; j < N_CHAINS; ++j) {
            acc[j] = acc[j]*a + b;
        }
    }
    vec sum = {};
    for (int i = 0; i < N_CHAINS; ++i) {
        sum += acc[i];
    }
    return sum[0];
}

double fma_peak(int n_threads) {
    const long n = 10*1000*1000;

    std::vector<float>       sinks(n_threads);
    std::vector<std::thread> threads;

    const auto start = std::chrono::steady_clock::now();
    for (int i = 1; i < n_threads; ++i) {
        threads.emplace_back([&, i] { sinks[i] = run(n); });
    }
    sinks[0] = run(n);
    for (std::thread & thread : threads) {
        thread.join();
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;

    volatile float sink = 0.0f;
    for (const float x : sinks) {
        sink = sink + x;
    }
    return 2.0*WIDTH*N_CHAINS*n*n_threads/time.count();
}
