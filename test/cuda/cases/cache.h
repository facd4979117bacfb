// K or V as a cache holds it: encoded, in one of its layouts, with cells before those that are read; and what it
// decodes to.

#pragma once

#include "random.h"

#include "ggml.h"
#include "device.h"

#include <memory>
#include <vector>

static const ggml_type CACHE_TYPES[] = {
    GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,
    GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
};

struct cache_shape {
    ggml_type type;

    int  n_cells;
    int  n_head;
    int  d;
    bool is_trans; // [n_head*d][n_cells] instead of [n_cells][n_head*d]
    bool is_moved; // begins where no vector of 16 bytes does
    bool is_wide;  // has values past F16's range, for kernels that take the largest one in it instead
};

class test_cache {
public:
    test_cache(const cache_shape & shape, case_random & rnd);

    // channel i of a cell, as kernels should take it
    float at(int cell, int head, int i) const {
        return decoded[((size_t) cell*shape.n_head + head)*shape.d + i];
    }

    // cells from cell0 on, those of a chunk `stride` behind those of the one before: [d, n_keys, n_head, n_chunks], or
    // [n_keys, d, n_head, n_chunks] if transposed
    ggml_tensor * view(ggml_context * ctx, int cell0, int n_keys, int n_chunks, int stride) const;

private:
    cache_shape shape;

    std::vector<float>          decoded; // [n_cells][n_head][d]
    std::unique_ptr<device_buffer> buffer;
    char *                      data;

    size_t nb_row() const;
};
