#include "h2o-amx-weights.h"

#ifdef H2O_HAS_AMX

#include "h2o-int8-pieces.h"

#include "amx/amx.h"
#include "amx/common.h"
#include "ggml-backend-impl.h"

#include <immintrin.h>

// A block of upstream's layout is 16 rows of weights and as many values of them as a quantised block has. Its quants come
// first, in groups of 32 values: vectors of 16 rows by 4 values. Scales and the like are vectors of 16 rows behind them.

static bool in_amx_buffer(const ggml_tensor * w) {
#if defined(__AMX_INT8__) && defined(__AVX512VNNI__)
    return w->buffer && w->buffer->buft == ggml_backend_amx_buffer_type();
#else
    GGML_UNUSED(w);
    return false;
#endif
}

bool h2o_amx_packed(const ggml_tensor * w) {
    return in_amx_buffer(w) && qtype_has_amx_kernels(w->type);
}

bool h2o_amx_plain(const ggml_tensor * w) {
    return w->buffer && (in_amx_buffer(w) ? !qtype_has_amx_kernels(w->type) : ggml_backend_buffer_is_host(w->buffer));
}

bool h2o_amx_repacked(const ggml_tensor * w) {
    return w->buffer && h2o_int8_is_repacked(w) && h2o_int8_format_of(w->type).bits > 0 && w->ne[1] % 16 == 0;
}

namespace {

// one group: a weight is scale*q + bias
struct group {
    __m512i q[8];
    __m512  scale[2]; // of the first and the last 16 values
    __m512  bias;

    void set_scale(__m512 x) { scale[0] = scale[1] = x; }
};

}

static inline __m512 load_f16(const void * p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p));
}

static inline __m512 load_u8(const void * p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) p)));
}

static inline __m512 load_i8(const void * p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *) p)));
}

// 4 bits each: two vectors in one
static inline void load_nibbles(const uint8_t * p, __m512i * q) {
    const __m512i low = _mm512_set1_epi8(0xf);
    for (int i = 0; i < 4; ++i) {
        const __m512i both = _mm512_loadu_si512(p + i*64);
        q[2*i]     = _mm512_and_si512(both, low);
        q[2*i + 1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    }
}

static inline void read_group(const block_q8_0 *, const uint8_t * p, int, group & res) {
    for (int i = 0; i < 8; ++i) {
        res.q[i] = _mm512_loadu_si512(p + i*64);
    }
    res.set_scale(load_f16(p + 512));
    res.bias = _mm512_setzero_ps();
}

static inline void read_group(const block_q4_0 *, const uint8_t * p, int, group & res) {
    load_nibbles(p, res.q);
    const __m512 d = load_f16(p + 256);
    res.set_scale(d);
    res.bias = _mm512_mul_ps(d, _mm512_set1_ps(-8.0f));
}

static inline void read_group(const block_q4_1 *, const uint8_t * p, int, group & res) {
    load_nibbles(p, res.q);
    res.set_scale(load_f16(p + 256));
    res.bias = load_f16(p + 288);
}

// scales u8 [8][16], mins u8 [4][16][2], d f16 [16], dmin f16 [16]
static inline void read_scales_k(const uint8_t * p, int g, group & res) {
    const __m512 d    = load_f16(p + 256);
    const __m512 dmin = load_f16(p + 288);
    res.set_scale(_mm512_mul_ps(d, load_u8(p + g*16)));

    const __m256i pairs = _mm256_loadu_si256((const __m256i *) (p + 128 + g/2*32));
    const __m256i mins  = g % 2 ? _mm256_srli_epi16(pairs, 8) : _mm256_and_si256(pairs, _mm256_set1_epi16(0xff));
    res.bias = _mm512_fnmadd_ps(dmin, _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(mins)), _mm512_setzero_ps());
}

static inline void read_group(const block_q4_K *, const uint8_t * p, int g, group & res) {
    load_nibbles(p + g*256, res.q);
    read_scales_k(p + 2048, g, res);
}

// the fifth bit of vector i is bit i
static inline void read_group(const block_q5_K *, const uint8_t * p, int g, group & res) {
    load_nibbles(p + g*256, res.q);
    const __m512i high = _mm512_loadu_si512(p + 2048 + g*64);
    const __m512i bit  = _mm512_set1_epi8(0x10);
    for (int i = 0; i < 8; ++i) {
        const __m512i h = i < 4 ? _mm512_slli_epi16(high, 4 - i) : _mm512_srli_epi16(high, i - 4);
        res.q[i] = _mm512_or_si512(res.q[i], _mm512_and_si512(h, bit));
    }
    read_scales_k(p + 2560, g, res);
}

// the upper bits of vector i are bits 2i and 2i + 1, of each 16 values; scales i8 [16][16], d f16 [16]
static inline void read_group(const block_q6_K *, const uint8_t * p, int g, group & res) {
    load_nibbles(p + g*256, res.q);
    const __m512i bits = _mm512_set1_epi8(0x30);
    for (int j = 0; j < 2; ++j) {
        const __m512i high = _mm512_loadu_si512(p + 2048 + (2*g + j)*64);

        __m512i * q = res.q + 4*j;
        q[0] = _mm512_or_si512(q[0], _mm512_and_si512(_mm512_slli_epi16(high, 4), bits));
        q[1] = _mm512_or_si512(q[1], _mm512_and_si512(_mm512_slli_epi16(high, 2), bits));
        q[2] = _mm512_or_si512(q[2], _mm512_and_si512(high,                       bits));
        q[3] = _mm512_or_si512(q[3], _mm512_and_si512(_mm512_srli_epi16(high, 2), bits));
    }
    for (int i = 0; i < 8; ++i) {
        res.q[i] = _mm512_sub_epi8(res.q[i], _mm512_set1_epi8(32));
    }
    const __m512 d = load_f16(p + 3072 + 256);
    res.scale[0] = _mm512_mul_ps(d, load_i8(p + 3072 + (2*g)*16));
    res.scale[1] = _mm512_mul_ps(d, load_i8(p + 3072 + (2*g + 1)*16));
    res.bias = _mm512_setzero_ps();
}

// scales i8 [8][16], d f16 [16]
static inline void read_group(const block_iq4_xs *, const uint8_t * p, int g, group & res) {
    alignas(16) static const int8_t values[16] = {
        -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
    };
    const __m512i table = _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *) values));

    load_nibbles(p + g*256, res.q);
    for (int i = 0; i < 8; ++i) {
        res.q[i] = _mm512_shuffle_epi8(table, res.q[i]);
    }
    res.set_scale(_mm512_mul_ps(load_f16(p + 2048 + 128), load_i8(p + 2048 + g*16)));
    res.bias = _mm512_setzero_ps();
}

// byte i of every 16th value, as a number of its own
template <int i>
static inline __m512 byte_of(__m512i q) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(q, 24 - 8*i), 24));
}

// pairs of values of 16 rows, side by side
static inline void store_pairs(__m512 first, __m512 second, uint16_t * dst) {
    const __m512i sides = (__m512i) _mm512_cvtne2ps_pbh(second, first);
    const __m512i zip   = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    _mm512_storeu_si512(dst, _mm512_permutexvar_epi16(zip, sides));
}

static inline void store_group(const group & g, uint16_t * tile) {
    for (int i = 0; i < 8; ++i) {
        const __m512 scale = g.scale[i/4];
        store_pairs(_mm512_fmadd_ps(byte_of<0>(g.q[i]), scale, g.bias),
                    _mm512_fmadd_ps(byte_of<1>(g.q[i]), scale, g.bias), tile + (2*i)*32);
        store_pairs(_mm512_fmadd_ps(byte_of<2>(g.q[i]), scale, g.bias),
                    _mm512_fmadd_ps(byte_of<3>(g.q[i]), scale, g.bias), tile + (2*i + 1)*32);
    }
}

// n_groups: of a block
template <typename T, int n_groups>
static void unpack(const ggml_tensor * w, size_t block_size, int64_t n, int64_t k, int64_t n_k, uint16_t * dst) {
    const int64_t   n_blocks = w->ne[0]/32/n_groups;
    const uint8_t * blocks   = (const uint8_t *) w->data + n/16*n_blocks*block_size;

    for (int64_t i = k/32; i < (k + n_k)/32; ++i) {
        group g;
        read_group((const T *) nullptr, blocks + i/n_groups*block_size, i % n_groups, g);
        store_group(g, dst);
        dst += H2O_AMX_TILE;
    }
}

void h2o_amx_unpack(const ggml_tensor * w, int64_t n, int64_t k, int64_t n_k, uint16_t * dst) {
    switch (w->type) {
        case GGML_TYPE_Q8_0:   unpack<block_q8_0,   1>(w, 16*(sizeof(block_q8_0) + 4), n, k, n_k, dst); break;
        case GGML_TYPE_Q4_0:   unpack<block_q4_0,   1>(w, 16*sizeof(block_q4_0),       n, k, n_k, dst); break;
        case GGML_TYPE_Q4_1:   unpack<block_q4_1,   1>(w, 16*sizeof(block_q4_1),       n, k, n_k, dst); break;
        case GGML_TYPE_Q4_K:   unpack<block_q4_K,   8>(w, 16*(sizeof(block_q4_K) + 4), n, k, n_k, dst); break;
        case GGML_TYPE_Q5_K:   unpack<block_q5_K,   8>(w, 16*(sizeof(block_q5_K) + 4), n, k, n_k, dst); break;
        case GGML_TYPE_Q6_K:   unpack<block_q6_K,   8>(w, 16*sizeof(block_q6_K),       n, k, n_k, dst); break;
        case GGML_TYPE_IQ4_XS: unpack<block_iq4_xs, 8>(w, 16*(sizeof(block_iq4_xs) + 2), n, k, n_k, dst); break;
        default: GGML_ABORT("a type that ggml does not pack for AMX");
    }
}

namespace {

// where the pieces of 16 rows go
template <typename Layout>
struct sink {
    static constexpr h2o_int8_format FORMAT = Layout::FORMAT;
    static constexpr int64_t         N_NEXT = Layout::PIECE_BYTES;

    uint16_t   * tile;
    const char * next; // weights that come after these: N_NEXT bytes of them are fetched with each piece

    H2O_INLINE sink from(int64_t b) const { return { tile + b*H2O_AMX_TILE, next + b*N_NEXT }; }

    H2O_INLINE void put(int64_t b, const h2o_int8_pieces::piece & p) const {
        group g;
        for (int i = 0; i < 8; ++i) {
            g.q[i] = _mm512_sub_epi8(p.q[i], _mm512_set1_epi8((char) FORMAT.offset));
        }
        g.scale[0] = p.scale[0];
        g.scale[1] = p.scale[1];
        g.bias     = FORMAT.has_min ? p.min : _mm512_setzero_ps();

        const sink to = from(b);
        h2o_int8_fetch(to.next, N_NEXT);
        store_group(g, to.tile);
    }
};

}

template <typename Layout>
static void unpack_rows(const h2o_linear_op & op, int64_t n, int64_t k, int64_t n_k, uint16_t * dst) {
    static_assert(h2o_int8_lanes::N == 16);

    // as much of the rows behind these is fetched, in the order of memory
    Layout::read(op, 0, n, k, n_k, sink<Layout>{ dst, Layout::at(op, 0, n + 16, k) });
}

bool h2o_amx_unpack_int8(const h2o_linear_op & op, int64_t n, int64_t k, int64_t n_k, uint16_t * dst) {
    return h2o_int8_pieces::visit(op.w, [&](auto layout) { unpack_rows<decltype(layout)>(op, n, k, n_k, dst); });
}

#endif
