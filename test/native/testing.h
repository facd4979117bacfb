// The little that the tests share: a check that says where it failed, a random source, and running a graph on the CPU.

#pragma once

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

struct test_random {
    std::mt19937 engine { 42 };

    int   integer(int lo, int hi)       { return std::uniform_int_distribution<int>(lo, hi)(engine); }
    float uniform(float lo, float hi)   { return std::uniform_real_distribution<float>(lo, hi)(engine); }
};

// a graph over tensors that live in host memory
struct test_graph {
    ggml_context_ptr        ctx { ggml_init({ 1024*ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }) };
    ggml_backend_ptr        backend { ggml_backend_cpu_init() };
    ggml_backend_buffer_ptr buf;

    // allocates all tensors of ctx; inputs are set after this
    void alloc() {
        buf.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
    }

    void compute(const std::vector<ggml_tensor *> & outputs, int n_threads = 1) {
        ggml_cgraph * gf = ggml_new_graph(ctx.get());
        for (ggml_tensor * t : outputs) {
            ggml_build_forward_expand(gf, t);
        }
        ggml_backend_cpu_set_n_threads(backend.get(), n_threads);
        CHECK(ggml_backend_graph_compute(backend.get(), gf) == GGML_STATUS_SUCCESS);
    }
};

template <typename T>
void test_set(ggml_tensor * t, const std::vector<T> & data) {
    CHECK(data.size()*sizeof(T) == ggml_nbytes(t));
    ggml_backend_tensor_set(t, data.data(), 0, ggml_nbytes(t));
}

template <typename T>
std::vector<T> test_get(const ggml_tensor * t) {
    std::vector<T> data(ggml_nelements(t));
    ggml_backend_tensor_get(t, data.data(), 0, ggml_nbytes(t));
    return data;
}
