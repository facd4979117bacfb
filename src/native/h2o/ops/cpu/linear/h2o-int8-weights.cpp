#include "h2o-int8-pieces.h"

#ifdef H2O_HAS_INT8

#include "ggml-backend-impl.h"

namespace {

using V = h2o_int8_lanes;

// where the pieces of some rows go in a tile; a copy of it, as stores to bytes may change whatever memory holds
template <typename Layout>
struct sink {
    static constexpr h2o_int8_format FORMAT = Layout::FORMAT;
    static constexpr int64_t         N_NEXT = Layout::PIECE_BYTES;

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

template <typename Layout>
static void unpack(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    for (int64_t c = 0; c < H2O_INT8_COLS; c += V::N) {
        // as much of the weights behind this panel is fetched, in the order of memory
        const char * next = Layout::at(op, e, n + H2O_INT8_COLS + c, k);

        Layout::read(op, e, n + c, k, n_k, sink<Layout>{ tile.q + c*4, tile.scale + c, tile.min + c, next });
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

void h2o_int8_unpack(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    if (!h2o_int8_pieces::visit(op.w, [&](auto layout) { unpack<decltype(layout)>(op, e, n, k, n_k, tile); })) {
        GGML_ABORT("a type without this form");
    }
}

#endif
