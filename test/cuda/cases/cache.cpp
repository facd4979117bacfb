#include "cache.h"

#include <algorithm>
#include <cstring>

static const float F16_MAX = 65504.0f;

// n values that follow each other in memory, and what they are when they are read back
static void encode(ggml_type type, const float * x, char * data, int n, float * back) {
    if (type == GGML_TYPE_F32) {
        memcpy(data, x, n*sizeof(float));
        memcpy(back, x, n*sizeof(float));
        return;
    }
    const ggml_type_traits & traits = *ggml_get_type_traits(type);
    traits.from_float_ref(x, data, n);
    traits.to_float(data, back, n);
}

size_t test_cache::nb_row() const {
    return ggml_row_size(shape.type, shape.is_trans ? shape.n_cells : shape.n_head*shape.d);
}

test_cache::test_cache(const cache_shape & shape, case_random & rnd) : shape(shape) {
    const int n_channels = shape.n_head*shape.d;
    const int n_rows     = shape.is_trans ? n_channels    : shape.n_cells;
    const int n_row      = shape.is_trans ? shape.n_cells : n_channels;

    const size_t shift = shape.is_moved ? 2*(ggml_is_quantized(shape.type) ? 1 : ggml_type_size(shape.type)) : 0;

    buffer.reset(new device_buffer(nb_row()*n_rows + shift));
    data = buffer->data() + shift;

    decoded.resize((size_t) n_rows*n_row);

    const float limit = shape.is_wide ? 2*F16_MAX : 1.0f;

    std::vector<float> back(n_row);
    for (int ir = 0; ir < n_rows; ++ir) {
        encode(shape.type, rnd.uniforms(n_row, limit).data(), data + ir*nb_row(), n_row, back.data());

        for (int i = 0; i < n_row; ++i) {
            const int cell    = shape.is_trans ? i  : ir;
            const int channel = shape.is_trans ? ir : i;

            decoded[(size_t) cell*n_channels + channel] =
                shape.is_wide ? std::max(-F16_MAX, std::min(F16_MAX, back[i])) : back[i];
        }
    }
}

ggml_tensor * test_cache::view(ggml_context * ctx, int cell0, int n_keys, int n_chunks, int stride) const {
    const size_t nb_value = ggml_type_size(shape.type);
    const size_t nb_cell  = shape.is_trans ? nb_value         : nb_row();
    const size_t nb_head  = shape.is_trans ? shape.d*nb_row() : ggml_row_size(shape.type, shape.d);

    ggml_tensor * t = shape.is_trans
        ? ggml_new_tensor_4d(ctx, shape.type, n_keys, shape.d, shape.n_head, n_chunks)
        : ggml_new_tensor_4d(ctx, shape.type, shape.d, n_keys, shape.n_head, n_chunks);

    t->nb[1] = nb_row();
    t->nb[2] = nb_head;
    t->nb[3] = stride*nb_cell;
    t->data  = data + cell0*nb_cell;
    return t;
}
