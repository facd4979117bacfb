// What a stream's tokens see. What the mask hides from all of them is not read: cells behind the last position, those out of
// a window, holes.

#pragma once

#include "h2o-decode-op.h"

#include "ggml-cpu.h"
#include "simd-mappings.h"

#include <cmath>
#include <cstring>

// what the mask adds to the logit of a token and a cell
static inline float h2o_decode_mask_at(const h2o_decode_op & op, int64_t t, int64_t cell) {
    const char * row = op.mask_row(t);

    return op.mask->type == GGML_TYPE_F16 ? GGML_CPU_FP16_TO_FP32(((const ggml_fp16_t *) row)[cell]) : ((const float *) row)[cell];
}

// cells up to the last one that a token sees, `least` at least
static inline int64_t h2o_decode_n_seen(const h2o_decode_op & op, int64_t t, int64_t least = 0) {
    int64_t n = op.n_kv;
    while (n > least && h2o_decode_mask_at(op, t, n - 1) == -INFINITY) {
        --n;
    }
    return n;
}

// the keys of a tile that some token sees
struct h2o_decode_seen {
    // values: room for n_tokens*H2O_DECODE_TILE
    h2o_decode_seen(const h2o_decode_op & op, float * values) : op(op), values(values) {}

    // of keys [begin, end), a tile at most
    void find(int64_t begin, int64_t end);

    // what the mask adds to the logits of a token: [n]
    const float * of_token(int64_t t) const { return values + t*H2O_DECODE_TILE; }

    int64_t n = 0;
    int32_t cells[H2O_DECODE_TILE]; // ascending

    bool is_plain = true; // the mask adds nothing, to no token

private:
    const h2o_decode_op & op;

    float * const values;
};

inline void h2o_decode_seen::find(int64_t begin, int64_t end) {
    const int64_t n_all = end - begin;

    bool is_seen[H2O_DECODE_TILE] = {};

    for (int64_t t = 0; t < op.n_tokens; ++t) {
        const char * row = op.mask_row(t);
        float      * to  = values + t*H2O_DECODE_TILE;

        if (op.mask->type == GGML_TYPE_F16) {
            ggml_cpu_fp16_to_fp32((const ggml_fp16_t *) row + begin, to, n_all);
        } else {
            memcpy(to, (const float *) row + begin, n_all*sizeof(float));
        }
        for (int64_t i = 0; i < n_all; ++i) {
            is_seen[i] |= to[i] != -INFINITY;
        }
    }

    n = 0;
    for (int64_t i = 0; i < n_all; ++i) {
        if (is_seen[i]) {
            cells[n++] = begin + i;
        }
    }

    int n_others = 0;
    for (int64_t t = 0; t < op.n_tokens; ++t) {
        float * x = values + t*H2O_DECODE_TILE;

        for (int64_t i = 0; i < n && n < n_all; ++i) {
            x[i] = x[cells[i] - begin];
        }
        for (int64_t i = 0; i < n; ++i) {
            n_others += x[i] != 0.0f;
        }
    }
    is_plain = n_others == 0;
}
