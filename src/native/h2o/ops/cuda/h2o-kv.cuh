// Where K and V lie: what the kernels are told of a tensor over the cache, and which of them they read.

#pragma once

#include "common.cuh"

// K or V as the cache holds them. Cells are nb_cell apart and channels nb_channel (not used for quantised types, whose
// channels come in blocks).
struct h2o_kv {
    const char * data;

    int64_t nb_cell;
    int64_t nb_channel;
    int64_t nb_head;
    int64_t nb_chunk;

    ggml_type type;
    bool      is_trans;   // the cells of a channel are neighbours
    bool      is_vec;     // not is_trans, and 8 channels lie at an address that is a multiple of 16
    bool      is_nibbles; // four or five bits for a channel
};

static inline bool h2o_is_nibbles(ggml_type type) {
    return type == GGML_TYPE_Q4_0 || type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q5_0 || type == GGML_TYPE_Q5_1;
}

static inline h2o_kv h2o_kv_of(const ggml_tensor * t, bool is_trans) {
    const size_t size = ggml_type_size(t->type);

    bool is_vec = !is_trans && !ggml_is_quantized(t->type) && (uintptr_t) t->data % 16 == 0;
    for (int i = 1; i < GGML_MAX_DIMS; ++i) {
        is_vec = is_vec && t->nb[i] % 16 == 0;
    }

    return {
        (const char *) t->data,
        (int64_t) (is_trans ? t->nb[0] : t->nb[1]),
        (int64_t) (is_trans ? t->nb[1] : size),
        (int64_t) t->nb[2],
        (int64_t) t->nb[3],
        t->type,
        is_trans,
        is_vec,
        h2o_is_nibbles(t->type),
    };
}

// [heads][cells][d]
static inline h2o_kv h2o_kv_of_halves(const half * data, int64_t d, int64_t n_cells) {
    const int64_t size = sizeof(half);

    return { (const char *) data, d*size, size, n_cells*d*size, 0, GGML_TYPE_F16, false, true, false };
}

// in pieces of eight channels of heads of size d
static inline bool h2o_reads_type(ggml_type type, int64_t d) {
    switch (type) {
        case GGML_TYPE_F32:
        case GGML_TYPE_F16:
        case GGML_TYPE_BF16: return d % 8 == 0;
        case GGML_TYPE_Q8_0: return d % 32 == 0; // a head is whole blocks
        default:             return d % 32 == 0 && h2o_is_nibbles(type);
    }
}
