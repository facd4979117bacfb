#include "h2o-int8-pieces.h"

#ifdef H2O_HAS_INT8

#include "ggml-backend-impl.h"

namespace {

using V = h2o_int8_lanes;

// where the pieces of some rows go in a tile; a copy of it, as stores to bytes may change whatever memory holds
template <ggml_type TYPE, int64_t N_NEXT>
struct sink {
    static constexpr h2o_int8_format FORMAT = h2o_int8_format_of(TYPE);

    uint8_t    * q;
    float      * scale;
    float      * min;
    const char * next; // weights that come after these: N_NEXT bytes of them are fetched with each piece

    H2O_INLINE sink from(int64_t b) const {
        return { q + b*H2O_INT8_BLOCK*H2O_INT8_COLS, scale + b*FORMAT.n_parts*H2O_INT8_COLS, min + b*H2O_INT8_COLS, next + b*N_NEXT };
    }

    H2O_INLINE void put(int64_t b, const h2o_int8_pieces::piece & p) const {
        const sink to = from(b);
        h2o_int8_fetch(to.next, N_NEXT);
        for (int64_t s = 0; s < H2O_INT8_BLOCK/4; ++s) {
            V::store(to.q + s*H2O_INT8_COLS*4, p.q[s]);
        }
        for (int64_t h = 0; h < FORMAT.n_parts; ++h) {
            V::store(to.scale + h*H2O_INT8_COLS, p.scale[h]);
        }
        if (FORMAT.has_min) {
            V::store(to.min, p.min);
        }
    }
};

}

// N_BLOCK values are a block of type T
template <ggml_type TYPE, int64_t N_BLOCK, typename T, typename Rows>
static void unpack(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    constexpr int64_t SIZE = sizeof(T)*V::N/Rows::INTERLEAVED; // of a block of all rows

    for (int64_t c = 0; c < H2O_INT8_COLS; c += V::N) {
        const Rows rows(op, e, n + c);

        // as much of the weights behind this panel is fetched, in the order of memory
        const char * next = (const char *) op.weights(e, n + H2O_INT8_COLS + c, 0) + k/N_BLOCK*SIZE;
        const sink<TYPE, SIZE*H2O_INT8_BLOCK/N_BLOCK> out = { tile.q + c*4, tile.scale + c, tile.min + c, next };

        for (int64_t b = 0; b < n_k/N_BLOCK; ++b) {
            h2o_int8_pieces::read(rows, (const T *) nullptr, (k/N_BLOCK + b)*sizeof(T), out.from(b*N_BLOCK/H2O_INT8_BLOCK));
        }
    }
}

bool h2o_int8_is_repacked(const ggml_tensor * w) {
#ifdef GGML_USE_CPU_REPACK
    return w->buffer->buft == ggml_backend_cpu_repack_buffer_type();
#else
    GGML_UNUSED(w);
    return false;
#endif
}

bool h2o_int8_can_unpack(const ggml_tensor * w) {
    return w->buffer && (ggml_backend_buffer_is_host(w->buffer) || h2o_int8_is_repacked(w));
}

template <ggml_type TYPE, int64_t N_BLOCK, typename T, typename T8>
static void unpack_any(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    if (h2o_int8_is_repacked(op.w)) {
        unpack<TYPE, N_BLOCK, T8, h2o_int8_repacked>(op, e, n, k, n_k, tile);
    } else {
        unpack<TYPE, N_BLOCK, T,  h2o_int8_plain>(op, e, n, k, n_k, tile);
    }
}

void h2o_int8_unpack(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    switch (op.w->type) {
        case GGML_TYPE_Q8_0:   unpack<GGML_TYPE_Q8_0,   32,  block_q8_0,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q4_1:   unpack<GGML_TYPE_Q4_1,   32,  block_q4_1,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q5_0:   unpack<GGML_TYPE_Q5_0,   32,  block_q5_0,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q5_1:   unpack<GGML_TYPE_Q5_1,   32,  block_q5_1,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q3_K:   unpack<GGML_TYPE_Q3_K,   256, block_q3_K,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q5_K:   unpack<GGML_TYPE_Q5_K,   256, block_q5_K,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q6_K:   unpack<GGML_TYPE_Q6_K,   256, block_q6_K,   h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_IQ4_XS: unpack<GGML_TYPE_IQ4_XS, 256, block_iq4_xs, h2o_int8_plain>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q4_0:   unpack_any<GGML_TYPE_Q4_0,   32,  block_q4_0,   block_q4_0x8>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q4_K:   unpack_any<GGML_TYPE_Q4_K,   256, block_q4_K,   block_q4_Kx8>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_IQ4_NL: unpack_any<GGML_TYPE_IQ4_NL, 32,  block_iq4_nl, block_iq4_nlx8>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_MXFP4:  unpack_any<GGML_TYPE_MXFP4,  32,  block_mxfp4,  block_mxfp4x8>(op, e, n, k, n_k, tile); break;
        default: GGML_ABORT("a type without this form");
    }
}

#endif
