// Quantised weights, unpacked to what the kernel for 8-bit values multiplies (h2o-int8-kernel.h).

#pragma once

#include "h2o-int8-lanes.h"
#include "h2o-linear-op.h"

#ifdef H2O_HAS_INT8

// values of a row that are quantised together, weights as well as activations
static constexpr int64_t H2O_INT8_BLOCK = 32;

// A weight is scale*(q - offset), or scale*q + min: q is not negative but for 8 bits without an offset. The offset goes with
// the sums of activations.
struct h2o_int8_format {
    int  bits;
    int  offset;
    bool has_min;
    int  n_parts; // of a block, with a scale each
};

// Without VNNI, products of two are summed up in 16 bits, and widened from there. Weights of 8 bits overflow that unless they
// keep their sign, which goes to the activations.
#if defined(H2O_HAS_VNNI)
static constexpr bool H2O_INT8_WIDENS = false;
#else
static constexpr bool H2O_INT8_WIDENS = true;
#endif

// bits is 0 for types that have no such form
constexpr h2o_int8_format h2o_int8_format_of(ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q8_0:
        case GGML_TYPE_IQ4_NL:
        case GGML_TYPE_IQ4_XS: return { 8, H2O_INT8_WIDENS ? 0 : 128, false, 1 };
        case GGML_TYPE_Q4_0:   return { 4, 8,  false, 1 };
        case GGML_TYPE_Q5_0:   return { 5, 16, false, 1 };
        case GGML_TYPE_MXFP4:  return { 5, 12, false, 1 };
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_Q4_K:   return { 4, 0,  true,  1 };
        case GGML_TYPE_Q5_1:
        case GGML_TYPE_Q5_K:   return { 5, 0,  true,  1 };
        case GGML_TYPE_Q3_K:   return { 3, 4,  false, 2 };
        case GGML_TYPE_Q6_K:   return { 6, 32, false, 2 };
        default:               return { 0, 0,  false, 1 };
    }
}

// outputs that the kernel takes at once
static constexpr int64_t H2O_INT8_COLS = 2*h2o_int8_lanes::N;

struct h2o_int8_tile {
    uint8_t * q;     // [blocks][H2O_INT8_BLOCK/4][H2O_INT8_COLS][4]
    float   * scale; // [blocks][parts][H2O_INT8_COLS]
    float   * min;   // [blocks][H2O_INT8_COLS]
};

// whether w lies in memory as ggml repacks it for this processor, or either so or as in a file
bool h2o_int8_is_repacked(const ggml_tensor * w);
bool h2o_int8_can_unpack (const ggml_tensor * w);

// H2O_INT8_COLS rows of an expert's weights from row n on, values [k, k + n_k); those behind them are fetched meanwhile
void h2o_int8_unpack(const h2o_linear_op & op, int64_t expert, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile);

#endif
