#include "h2o-int8-weights.h"

#ifdef H2O_HAS_INT8

#include "ggml-backend-impl.h"
#include "ggml-quants.h"
#include "repack.h"
#include "simd-mappings.h"

#define GGML_COMMON_IMPL_CPP
#include "ggml-common.h"

#include <algorithm>
#include <cstring>

namespace {

// a block of 32 weights
struct piece {
    __m256i q;
    float   scale[2]; // of the first and the last 16 values
    float   min;

    void set_scale(float x) { scale[0] = scale[1] = x; }
};

}

static inline float from_f16(ggml_half x) {
    return GGML_CPU_FP16_TO_FP32(x);
}

static inline __m256i load_bytes(const uint8_t * p) {
    return _mm256_loadu_si256((const __m256i *) p);
}

static inline __m256i low_bits(__m256i q, int n) {
    return _mm256_and_si256(q, _mm256_set1_epi8((1 << n) - 1));
}

// shift by a number that the compiler may not know
static inline __m256i shift_right(__m256i q, int n) {
    return _mm256_srl_epi16(q, _mm_cvtsi32_si128(n));
}

// the lower halves of 16 bytes, then the upper ones
static inline __m256i nibbles_of(__m128i bytes) {
    return low_bits(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes), 4);
}

static inline __m256i nibbles_of(const uint8_t * p) {
    return nibbles_of(_mm_loadu_si128((const __m128i *) p));
}

// bit i is 0x10 in byte i
static inline __m256i fifth_bits(const uint8_t * p) {
    int32_t bits;
    memcpy(&bits, p, sizeof(bits));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), _mm256_set_epi64x(
        0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0x0000000000000000));
    const __m256i bit = _mm256_set1_epi64x((int64_t) 0x8040201008040201);
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), _mm256_set1_epi8(0x10));
}

// from signed ones: an offset of 128, or none
static inline __m256i biased(__m256i q) {
    return H2O_INT8_WIDENS ? q : _mm256_xor_si256(q, _mm256_set1_epi8((char) 0x80));
}

static inline __m256i iq4_values(__m256i nibbles) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) kvalues_iq4nl));
    return biased(_mm256_shuffle_epi8(table, nibbles));
}

// twelve times a half is the most
static inline __m256i mxfp4_values(__m256i nibbles) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) kvalues_mxfp4));
    return _mm256_add_epi8(_mm256_shuffle_epi8(table, nibbles), _mm256_set1_epi8(12));
}

// block i of a row; `lane` is the row's place among those that are interleaved

static inline void read_block(const block_q8_0 * row, int, int64_t i, piece & res) {
    res.q = biased(load_bytes((const uint8_t *) row[i].qs));
    res.set_scale(from_f16(row[i].d));
}

static inline void read_block(const block_q4_0 * row, int, int64_t i, piece & res) {
    res.q = nibbles_of(row[i].qs);
    res.set_scale(from_f16(row[i].d));
}

static inline void read_block(const block_q4_1 * row, int, int64_t i, piece & res) {
    res.q = nibbles_of(row[i].qs);
    res.set_scale(from_f16(row[i].d));
    res.min = from_f16(row[i].m);
}

static inline void read_block(const block_q5_0 * row, int, int64_t i, piece & res) {
    res.q = _mm256_or_si256(nibbles_of(row[i].qs), fifth_bits(row[i].qh));
    res.set_scale(from_f16(row[i].d));
}

static inline void read_block(const block_q5_1 * row, int, int64_t i, piece & res) {
    res.q = _mm256_or_si256(nibbles_of(row[i].qs), fifth_bits(row[i].qh));
    res.set_scale(from_f16(row[i].d));
    res.min = from_f16(row[i].m);
}

static inline void read_block(const block_iq4_nl * row, int, int64_t i, piece & res) {
    res.q = iq4_values(nibbles_of(row[i].qs));
    res.set_scale(from_f16(row[i].d));
}

static inline void read_block(const block_mxfp4 * row, int, int64_t i, piece & res) {
    res.q = mxfp4_values(nibbles_of(row[i].qs));
    res.set_scale(GGML_CPU_E8M0_TO_FP32_HALF(row[i].e));
}

static inline void read_block(const block_iq4_xs * row, int, int64_t i, piece & res) {
    const block_iq4_xs & block = row[i/8];
    const int            j     = i % 8;
    const int            low   = block.scales_l[j/2] >> 4*(j % 2) & 0xf;
    const int            high  = block.scales_h >> 2*j & 3;

    res.q = iq4_values(nibbles_of(block.qs + j*16));
    res.set_scale(from_f16(block.d)*((low | high << 4) - 32));
}

// scale and min j of eight, 6 bits each
static inline void set_scales_k(const uint8_t * p, int j, float d, float dmin, piece & res) {
    const int scale = j < 4 ? p[j]     & 63 : (p[j + 4] & 0xf) | (p[j - 4] >> 6) << 4;
    const int min   = j < 4 ? p[j + 4] & 63 :  p[j + 4] >> 4   | (p[j]     >> 6) << 4;
    res.set_scale(d*scale);
    res.min = -dmin*min;
}

static inline void read_block(const block_q4_K * row, int, int64_t i, piece & res) {
    const block_q4_K & block = row[i/8];
    const int          j     = i % 8;

    res.q = low_bits(shift_right(load_bytes(block.qs + j/2*32), 4*(j % 2)), 4);
    set_scales_k(block.scales, j, from_f16(block.d), from_f16(block.dmin), res);
}

static inline void read_block(const block_q5_K * row, int, int64_t i, piece & res) {
    const block_q5_K & block = row[i/8];
    const int          j     = i % 8;

    const __m256i high = low_bits(shift_right(load_bytes(block.qh), j), 1);
    res.q = low_bits(shift_right(load_bytes(block.qs + j/2*32), 4*(j % 2)), 4);
    res.q = _mm256_or_si256(res.q, _mm256_slli_epi16(high, 4));
    set_scales_k(block.scales, j, from_f16(block.d), from_f16(block.dmin), res);
}

static inline void read_block(const block_q3_K * row, int, int64_t i, piece & res) {
    const block_q3_K & block = row[i/8];
    const int          j     = i % 8;

    const __m256i high = low_bits(shift_right(load_bytes(block.hmask), j), 1);
    res.q = low_bits(shift_right(load_bytes(block.qs + j/4*32), 2*(j % 4)), 2);
    res.q = _mm256_or_si256(res.q, _mm256_slli_epi16(high, 2));

    for (int h = 0; h < 2; ++h) {
        const int s   = 2*j + h;
        const int low = block.scales[s % 8] >> 4*(s/8) & 0xf;
        res.scale[h] = from_f16(block.d)*((low | (block.scales[8 + s % 4] >> 2*(s/4) & 3) << 4) - 32);
    }
}

static inline void read_block(const block_q6_K * row, int, int64_t i, piece & res) {
    const block_q6_K & block = row[i/8];
    const int          n     = i % 8/4;
    const int          j     = i % 4;

    const __m256i high = low_bits(shift_right(load_bytes(block.qh + n*32), 2*j), 2);
    res.q = low_bits(shift_right(load_bytes(block.ql + n*64 + j % 2*32), 4*(j/2)), 4);
    res.q = _mm256_or_si256(res.q, _mm256_slli_epi16(high, 4));

    for (int h = 0; h < 2; ++h) {
        res.scale[h] = from_f16(block.d)*block.scales[8*n + 2*j + h];
    }
}

// ggml's layouts for AVX2 have 8 bytes of each of 8 rows in turn

static inline int64_t eight_bytes(const void * p, int lane) {
    int64_t res;
    memcpy(&res, (const char *) p + 8*lane, sizeof(res));
    return res;
}

static inline __m128i sixteen_bytes(const void * p, int lane) {
    return _mm_set_epi64x(eight_bytes((const char *) p + 64, lane), eight_bytes(p, lane));
}

static inline void read_block(const block_q4_0x8 * rows, int lane, int64_t i, piece & res) {
    res.q = nibbles_of(_mm_xor_si128(sixteen_bytes(rows[i].qs, lane), _mm_set1_epi8((char) 0x88)));
    res.set_scale(from_f16(rows[i].d[lane]));
}

static inline void read_block(const block_iq4_nlx8 * rows, int lane, int64_t i, piece & res) {
    res.q = iq4_values(nibbles_of(sixteen_bytes(rows[i].qs, lane)));
    res.set_scale(from_f16(rows[i].d[lane]));
}

static inline void read_block(const block_mxfp4x8 * rows, int lane, int64_t i, piece & res) {
    res.q = mxfp4_values(nibbles_of(sixteen_bytes(rows[i].qs, lane)));
    res.set_scale(GGML_CPU_E8M0_TO_FP32_HALF(rows[i].e[lane]));
}

// the scales of a block of all rows are together
static inline void read_block(const block_q4_Kx8 * rows, int lane, int64_t i, piece & res) {
    const block_q4_Kx8 & block = rows[i/8];
    const int            j     = i % 8;
    const uint8_t *      qs    = block.qs + j/2*256;

    const __m256i bytes = _mm256_set_m128i(sixteen_bytes(qs + 128, lane), sixteen_bytes(qs, lane));
    res.q = low_bits(shift_right(bytes, 4*(j % 2)), 4);
    set_scales_k(block.scales + 12*j, lane, from_f16(block.d[lane]), from_f16(block.dmin[lane]), res);
}

// eight vectors of a row each, to vectors of 4 bytes of each row
static inline void store_turned(const __m256i (&row)[8], uint8_t * dst) {
    __m256i pair[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i]     = _mm256_unpacklo_epi32(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
    }
    __m256i four[8];
    for (int i = 0; i < 8; i += 4) {
        four[i]     = _mm256_unpacklo_epi64(pair[i],     pair[i + 2]);
        four[i + 1] = _mm256_unpackhi_epi64(pair[i],     pair[i + 2]);
        four[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        four[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_si256((__m256i *) (dst + i      *H2O_INT8_COLS*4), _mm256_permute2x128_si256(four[i], four[i + 4], 0x20));
        _mm256_storeu_si256((__m256i *) (dst + (i + 4)*H2O_INT8_COLS*4), _mm256_permute2x128_si256(four[i], four[i + 4], 0x31));
    }
}

// N_ROWS are interleaved in T
template <ggml_type TYPE, typename T, int N_ROWS>
static void unpack(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    constexpr h2o_int8_format FORMAT = h2o_int8_format_of(TYPE);

    for (int64_t c = 0; c < H2O_INT8_COLS; c += 8) {
        const T * rows[8];
        int       lane[8];
        for (int r = 0; r < 8; ++r) {
            const int64_t row = std::min(n + c + r, op.n_out - 1);
            rows[r] = (const T *) op.weights(e, row/N_ROWS*N_ROWS, 0);
            lane[r] = row % N_ROWS;

            // what comes next is fetched while this is multiplied
            if (lane[r] == 0) {
                const char * next = (const char *) (rows[r] + (k + n_k)/ggml_blck_size(TYPE));
                for (size_t i = 0; i < sizeof(T)*n_k/ggml_blck_size(TYPE); i += 64) {
                    _mm_prefetch(next + i, _MM_HINT_T1);
                }
            }
        }
        for (int64_t b = 0; b < n_k/H2O_INT8_BLOCK; ++b) {
            __m256i q[8];
            for (int r = 0; r < 8; ++r) {
                piece p;
                read_block(rows[r], lane[r], k/H2O_INT8_BLOCK + b, p);

                q[r] = p.q;
                for (int h = 0; h < FORMAT.n_parts; ++h) {
                    tile.scale[(b*FORMAT.n_parts + h)*H2O_INT8_COLS + c + r] = p.scale[h];
                }
                if (FORMAT.has_min) {
                    tile.min[b*H2O_INT8_COLS + c + r] = p.min;
                }
            }
            store_turned(q, tile.q + b*H2O_INT8_BLOCK*H2O_INT8_COLS + c*4);
        }
    }
}

static bool is_repacked(const ggml_tensor * w) {
#ifdef GGML_USE_CPU_REPACK
    return w->buffer->buft == ggml_backend_cpu_repack_buffer_type();
#else
    GGML_UNUSED(w);
    return false;
#endif
}

bool h2o_int8_can_unpack(const ggml_tensor * w) {
    return w->buffer && (ggml_backend_buffer_is_host(w->buffer) || is_repacked(w));
}

template <ggml_type TYPE, typename T, typename T8>
static void unpack_any(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    if (is_repacked(op.w)) {
        unpack<TYPE, T8, 8>(op, e, n, k, n_k, tile);
    } else {
        unpack<TYPE, T,  1>(op, e, n, k, n_k, tile);
    }
}

void h2o_int8_unpack(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const h2o_int8_tile & tile) {
    switch (op.w->type) {
        case GGML_TYPE_Q8_0:   unpack<GGML_TYPE_Q8_0,   block_q8_0,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q4_1:   unpack<GGML_TYPE_Q4_1,   block_q4_1,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q5_0:   unpack<GGML_TYPE_Q5_0,   block_q5_0,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q5_1:   unpack<GGML_TYPE_Q5_1,   block_q5_1,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q3_K:   unpack<GGML_TYPE_Q3_K,   block_q3_K,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q5_K:   unpack<GGML_TYPE_Q5_K,   block_q5_K,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q6_K:   unpack<GGML_TYPE_Q6_K,   block_q6_K,   1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_IQ4_XS: unpack<GGML_TYPE_IQ4_XS, block_iq4_xs, 1>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q4_0:   unpack_any<GGML_TYPE_Q4_0,   block_q4_0,   block_q4_0x8  >(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_Q4_K:   unpack_any<GGML_TYPE_Q4_K,   block_q4_K,   block_q4_Kx8  >(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_IQ4_NL: unpack_any<GGML_TYPE_IQ4_NL, block_iq4_nl, block_iq4_nlx8>(op, e, n, k, n_k, tile); break;
        case GGML_TYPE_MXFP4:  unpack_any<GGML_TYPE_MXFP4,  block_mxfp4,  block_mxfp4x8 >(op, e, n, k, n_k, tile); break;
        default: GGML_ABORT("a type without this form");
    }
}

#endif
