// What the tests of linear layers share: the types of weights, the buffers for them, and how far off a product is.

#pragma once

#include "testing.h"

#include "ops/ggml-h2o.h"

#include "ggml-cpu.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

static const ggml_type LINEAR_TYPES[] = {
    GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0,
    GGML_TYPE_Q5_1, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL,
    GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4,
};

// rows of n_in values in a type; `values` become what they hold then
static std::vector<uint8_t> linear_quantize(ggml_type type, int n_in, std::vector<float> & values) {
    const std::vector<uint8_t> res = test_to_type(type, values, n_in);

    values = test_to_float(type, res, values.size());
    return res;
}

// normalised mean square error
static double error_of(const std::vector<float> & got, const std::vector<double> & want) {
    double diff = 0.0;
    double norm = 0.0;
    for (size_t i = 0; i < want.size(); ++i) {
        diff += (got[i] - want[i])*(got[i] - want[i]);
        norm += want[i]*want[i];
    }
    return diff/norm;
}

static std::vector<ggml_backend_buffer_type_t> linear_buffer_types() {
    ggml_backend_ptr   backend { ggml_backend_cpu_init() };
    ggml_backend_dev_t dev = ggml_backend_get_device(backend.get());

    std::vector<ggml_backend_buffer_type_t> res = { ggml_backend_cpu_buffer_type() };

    const auto extra = (ggml_backend_dev_get_extra_bufts_t)
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(dev), "ggml_backend_dev_get_extra_bufts");
    for (ggml_backend_buffer_type_t * buft = extra(dev); *buft; ++buft) {
        res.push_back(*buft);
    }
    return res;
}

static bool same(const std::vector<float> & a, const std::vector<float> & b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size()*sizeof(float)) == 0;
}

// whether products of these weights are in 8-bit integers here, from two rows on: docs/cpu-kernel.md
static inline bool linear_has_int8(ggml_type type) {
#ifdef _MSC_VER
    return false;
#else
    const char * H2O_INT8 = getenv("H2O_INT8");

    return ggml_cpu_has_avx2() && ggml_cpu_has_fma() && ggml_cpu_has_f16c() && !ggml_cpu_has_amx_int8() &&
        (!H2O_INT8 || atoi(H2O_INT8) != 0) && ggml_is_quantized(type) && type != GGML_TYPE_Q2_K;
#endif
}

// ours(n_threads): a product that is as near to float64 as ggml's, with the same bits on any number of threads; `shape`
// says of what
template <typename F>
static void check_ours(
        ggml_type type, ggml_backend_buffer_type_t buft, std::initializer_list<int> shape, const std::vector<float> & theirs,
        const std::vector<double> & want, double slack, F ours) {
    const std::vector<float> one = ours(1);

    if (error_of(one, want) > 1.1*error_of(theirs, want) + slack) {
        fprintf(stderr, "%s in %s,", ggml_type_name(type), ggml_backend_buft_name(buft));
        for (const int n : shape) {
            fprintf(stderr, " %d", n);
        }
        fprintf(stderr, ": %g, ggml's %g\n", error_of(one, want), error_of(theirs, want));
        exit(1);
    }
    for (int n_threads = 2; n_threads <= 4; ++n_threads) {
        CHECK(same(one, ours(n_threads)));
    }
}
