// What the tests of linear layers share: the types of weights, the buffers for them, and how far off a product is.

#pragma once

#include "testing.h"

#include "ops/ggml-h2o.h"

#include <cstdint>
#include <cstring>

static const ggml_type LINEAR_TYPES[] = {
    GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0,
    GGML_TYPE_Q5_1, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL,
    GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4,
};

// rows of n_in values in a type; `values` become what they hold then
static std::vector<uint8_t> linear_quantize(ggml_type type, int n_in, std::vector<float> & values) {
    const int n_rows = values.size()/n_in;

    std::vector<uint8_t> res(ggml_row_size(type, n_in)*n_rows);
    ggml_quantize_chunk(type, values.data(), res.data(), 0, n_rows, n_in, nullptr);
    if (type != GGML_TYPE_F32) {
        ggml_get_type_traits(type)->to_float(res.data(), values.data(), values.size());
    }
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
