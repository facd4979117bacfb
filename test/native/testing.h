// The little that the tests share: a check that says where it failed, a random source, and running a graph on the CPU.

#pragma once

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

    template <typename T>
    T pick(const std::vector<T> & of) { return of[integer(0, of.size() - 1)]; }
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

// normalised mean square error
inline double nmse(const float * want, const float * got, size_t n) {
    double diff = 0.0;
    double norm = 0.0;
    for (size_t i = 0; i < n; ++i) {
        diff += std::pow((double) got[i] - want[i], 2);
        norm += std::pow((double) want[i], 2);
    }
    return diff/norm;
}

inline double nmse(const std::vector<float> & want, const std::vector<float> & got) {
    CHECK(got.size() == want.size() && !got.empty());
    return nmse(want.data(), got.data(), got.size());
}

// rows of n_per_row values in a type
inline std::vector<uint8_t> test_to_type(ggml_type type, const std::vector<float> & x, int64_t n_per_row) {
    std::vector<uint8_t> res(ggml_row_size(type, n_per_row)*(x.size()/n_per_row));
    ggml_quantize_chunk(type, x.data(), res.data(), 0, x.size()/n_per_row, n_per_row, nullptr);
    return res;
}

// n values of a type
inline std::vector<float> test_to_float(ggml_type type, const std::vector<uint8_t> & x, size_t n) {
    std::vector<float> res(n);
    if (type == GGML_TYPE_F32) {
        memcpy(res.data(), x.data(), x.size());
    } else {
        ggml_get_type_traits(type)->to_float(x.data(), res.data(), n);
    }
    return res;
}
