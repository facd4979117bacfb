#include "cache.h"

#include <cmath>
#include <cstring>

static const float F16_MAX = 65504.0f;

static const int QK8_0 = 32; // values of a block

struct block_q8_0 {
    uint16_t d;
    int8_t   qs[QK8_0];
};

static size_t row_size(ggml_type type, int n) {
    switch (type) {
        case GGML_TYPE_F32:  return n*sizeof(float);
        case GGML_TYPE_Q8_0: return n/QK8_0*sizeof(block_q8_0);
        default:             return n*sizeof(uint16_t);
    }
}

static uint16_t half_bits(float x) {
    const half h = __float2half_rn(x);

    uint16_t bits;
    memcpy(&bits, &h, sizeof(bits));
    return bits;
}

static float half_value(uint16_t bits) {
    return __half2float(__ushort_as_half(bits));
}

static void encode_q8_0(const float * x, block_q8_0 * block, float * back) {
    float amax = 0.0f;
    for (int i = 0; i < QK8_0; ++i) {
        amax = std::max(amax, fabsf(x[i]));
    }

    block->d = half_bits(amax/127.0f);

    const float d = half_value(block->d);
    for (int i = 0; i < QK8_0; ++i) {
        block->qs[i] = (int8_t) std::max(-127.0f, std::min(127.0f, roundf(d > 0.0f ? x[i]/d : 0.0f)));
        back[i]      = d*block->qs[i];
    }
}

// n values that follow each other in memory
static void encode(ggml_type type, const float * x, char * data, int n, float * back) {
    for (int i = 0; i < n; ++i) {
        switch (type) {
            case GGML_TYPE_F32: {
                ((float *) data)[i] = x[i];
                back[i] = x[i];
            } break;
            case GGML_TYPE_F16: {
                ((uint16_t *) data)[i] = half_bits(x[i]);
                back[i] = half_value(((uint16_t *) data)[i]);
            } break;
            case GGML_TYPE_BF16: { // cut off: any value of the type will do
                ((uint16_t *) data)[i] = __float_as_uint(x[i]) >> 16;
                back[i] = __uint_as_float((uint32_t) ((uint16_t *) data)[i] << 16);
            } break;
            default: {
                if (i % QK8_0 == 0) {
                    encode_q8_0(x + i, (block_q8_0 *) data + i/QK8_0, back + i);
                }
            } break;
        }
    }
}

size_t test_cache::nb_row() const {
    return row_size(shape.type, shape.is_trans ? shape.n_cells : shape.n_head*shape.d);
}

test_cache::test_cache(const cache_shape & shape, emu_random & rnd) : shape(shape) {
    const int n_channels = shape.n_head*shape.d;
    const int n_rows     = shape.is_trans ? n_channels    : shape.n_cells;
    const int n_row      = shape.is_trans ? shape.n_cells : n_channels;

    const size_t shift = shape.is_moved ? row_size(shape.type, QK8_0)/QK8_0*2 : 0;

    buffer.reset(new emu_buffer(nb_row()*n_rows + shift));
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

h2o_kv test_cache::view(int cell0, int n_keys) const {
    const int64_t nb_value = row_size(shape.type, QK8_0)/QK8_0;

    h2o_kv kv;
    kv.nb_cell    = shape.is_trans ? nb_value         : nb_row();
    kv.nb_channel = shape.is_trans ? nb_row()         : nb_value;
    kv.nb_head    = shape.is_trans ? shape.d*nb_row() : row_size(shape.type, shape.d);
    kv.nb_chunk   = n_keys*kv.nb_cell;
    kv.data       = data + cell0*kv.nb_cell;
    kv.type       = shape.type;
    kv.is_trans   = shape.is_trans;
    kv.is_vec     = !shape.is_trans && shape.type != GGML_TYPE_Q8_0 && (uintptr_t) kv.data % 16 == 0 &&
                    kv.nb_cell % 16 == 0 && kv.nb_head % 16 == 0 && kv.nb_chunk % 16 == 0;
    return kv;
}
