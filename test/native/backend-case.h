// The cases of test-backend-ops (src/native/h2o/tests) without upstream's program around them: for random shapes, any
// number of threads, and sanitizers. What they need of it is here, with random values that are the same in every run.

#pragma once

#include "testing.h"

#include <cmath>
#include <memory>
#include <set>
#include <string>

struct test_case {
    virtual ~test_case() {}

    virtual std::string   vars() = 0;
    virtual ggml_tensor * build_graph(ggml_context * ctx) = 0;
    virtual void          initialize_tensors(ggml_context * ctx) = 0;
    virtual double        max_nmse_err() = 0;

    // of two results; a case knows the right one and holds both to it
    virtual double err(const float * a, const float * b, size_t n) = 0;

    static const int sentinel_size = 1024;
};

inline double test_case::err(const float *, const float *, size_t) {
    CHECK(!"a result of the size that the case expects");
    return INFINITY;
}

template <typename T> std::string var_to_str(const T & x)         { return std::to_string(x); }
template <>    inline std::string var_to_str(const ggml_type & x) { return ggml_type_name(x); }

template <typename... T>
std::string vars_to_str(const char * names, const T &... values) {
    std::string res = std::string(names) + " =";
    ((res += " " + var_to_str(values)), ...);
    return res;
}

#define VARS_TO_STR1(...)  vars_to_str(#__VA_ARGS__, __VA_ARGS__)
#define VARS_TO_STR2(...)  vars_to_str(#__VA_ARGS__, __VA_ARGS__)
#define VARS_TO_STR3(...)  vars_to_str(#__VA_ARGS__, __VA_ARGS__)
#define VARS_TO_STR5(...)  vars_to_str(#__VA_ARGS__, __VA_ARGS__)
#define VARS_TO_STR6(...)  vars_to_str(#__VA_ARGS__, __VA_ARGS__)
#define VARS_TO_STR12(...) vars_to_str(#__VA_ARGS__, __VA_ARGS__)

inline bool ggml_is_view_op(ggml_op op) {
    return op == GGML_OP_VIEW || op == GGML_OP_RESHAPE || op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
}

inline void init_tensor_uniform(ggml_tensor * t, float min = -1.0f, float max = 1.0f) {
    static test_random rnd;

    std::vector<float> values(ggml_nelements(t));
    for (float & x : values) {
        x = rnd.uniform(min, max);
    }
    if (t->type == GGML_TYPE_I32) {
        test_set(t, values); // any bits
    } else {
        test_set(t, test_to_type(t->type, values, t->ne[0]));
    }
}

// of a tensor that is no view
inline std::vector<float> tensor_to_float(const ggml_tensor * t) {
    if (t->type == GGML_TYPE_I32) {
        const std::vector<int32_t> data = test_get<int32_t>(t);
        return { data.begin(), data.end() };
    }
    std::vector<uint8_t> data(ggml_nbytes(t));
    ggml_backend_tensor_get(t, data.data(), 0, data.size());
    return test_to_float(t->type, data, ggml_nelements(t));
}

// a right result, with the same bits for 1 and for n_threads
inline std::vector<float> test_run(test_case & c, int n_threads) {
    test_graph g;
    ggml_tensor * out = c.build_graph(g.ctx.get());
    g.alloc();
    c.initialize_tensors(g.ctx.get());

    g.compute({ out });
    const std::vector<float> got = tensor_to_float(out);

    if (n_threads > 1) {
        g.compute({ out }, n_threads);
    }
    const std::vector<float> again = tensor_to_float(out);

    const bool   is_same = memcmp(got.data(), again.data(), got.size()*sizeof(float)) == 0;
    const double error   = c.err(got.data(), got.data(), got.size());
    if (!is_same || !(error <= c.max_nmse_err())) {
        fprintf(stderr, "%s: error %g of %g, %d threads: %s\n", c.vars().c_str(), error, c.max_nmse_err(), n_threads,
                is_same ? "the same" : "other bits");
        exit(1);
    }
    return got;
}
