#include "h2o-amx.h"

#include "h2o-bf16.h"
#include "h2o-inline.h"
#include "h2o-turn.h"

#ifndef H2O_HAS_AMX

bool h2o_amx_available() {
    return false;
}

#else

#include <cpuid.h>
#include <cstdlib>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool h2o_amx_init() {
    const char * H2O_AMX = getenv("H2O_AMX");
    if (H2O_AMX && atoi(H2O_AMX) == 0) {
        return false;
    }

    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        return false;
    }
    const bool has_bf16 = edx & (1u << 22);
    const bool has_tile = edx & (1u << 24);
    const bool has_int8 = edx & (1u << 25);

    constexpr int req_xcomp_perm = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr int tile_data      = 18;     // XFEATURE_XTILEDATA

    return has_bf16 && has_tile && has_int8 && syscall(SYS_arch_prctl, req_xcomp_perm, tile_data) == 0;
}

bool h2o_amx_available() {
    static const bool res = h2o_amx_init();
    return res;
}

#ifdef H2O_HAS_ASM
// the intrinsics of GCC 12 do not say that they read and write memory
#define H2O_TILE_LOAD(t, p, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t :: "r"(p), "r"((int64_t) (stride)) : "memory")
#define H2O_TILE_STORE(t, p, stride) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" :: "r"(p), "r"((int64_t) (stride)) : "memory")
#define H2O_TILE_ZERO(t)      __asm__ volatile("tilezero %%tmm" #t ::)
#define H2O_TILE_DOT(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#define H2O_TILE_DOT_INT8(c, a, b) __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#define H2O_TILE_SAVE(p)      __asm__ volatile("sttilecfg %0" : "=m"(p))
#define H2O_TILE_SET(p)       __asm__ volatile("ldtilecfg %0" :: "m"(p))
#else
#define H2O_TILE_LOAD(t, p, stride)  _tile_loadd(t, p, stride)
#define H2O_TILE_STORE(t, p, stride) _tile_stored(t, p, stride)
#define H2O_TILE_ZERO(t)             _tile_zero(t)
#define H2O_TILE_DOT(c, a, b)        _tile_dpbf16ps(c, a, b)
#define H2O_TILE_DOT_INT8(c, a, b)   _tile_dpbusd(c, a, b)
#define H2O_TILE_SAVE(p)             _tile_storeconfig(&(p))
#define H2O_TILE_SET(p)              _tile_loadconfig(&(p))
#endif

// sums in tiles 0 to 3, rows of the left side in 4 and 5, fours of bytes of the right side's columns in 6 and 7
struct h2o_tile_config {
    explicit h2o_tile_config(uint16_t n) :
        n_bytes{ 64, 64, 64, 64, n, n, 64, 64 },
        n_rows { 16, 16, 16, 16, 16, 16, (uint8_t) (n/4), (uint8_t) (n/4) } {}

    uint8_t  palette  = 1;
    uint8_t  start    = 0;
    uint8_t  zero[14] = {};
    uint16_t n_bytes[16];
    uint8_t  n_rows [16];
};

static_assert(sizeof(h2o_tile_config) == 64, "the processor reads 64 bytes");

h2o_amx_scope::h2o_amx_scope(int64_t n_bytes) {
    alignas(64) const h2o_tile_config config(n_bytes);

    H2O_TILE_SAVE(saved);
    H2O_TILE_SET(config);
}

h2o_amx_scope::~h2o_amx_scope() {
    H2O_TILE_SET(saved);
}

void h2o_amx_split(const float * src, h2o_split dst, int64_t n) {
    for (int64_t i = 0; i < n; i += 32) {
        const __m512 a  = _mm512_loadu_ps(src + i);
        const __m512 b  = _mm512_loadu_ps(src + i + 16);
        const __m512 ha = h2o_nearest(a);
        const __m512 hb = h2o_nearest(b);

        _mm512_storeu_si512(dst.hi + i, h2o_pair(ha, hb));
        _mm512_storeu_si512(dst.lo + i, h2o_pair_rest(a, ha, b, hb));
    }
}

void h2o_amx_round(const float * src, uint16_t * dst, int64_t n) {
    for (int64_t i = 0; i < n; i += 16) {
        _mm256_storeu_si256((__m256i *) (dst + i), (__m256i) _mm512_cvtneps_pbh(_mm512_loadu_ps(src + i)));
    }
}

void h2o_amx_pack_columns(const float * rows, int64_t ld, int64_t n_k, h2o_split dst) {
    for (int64_t k = 0; k < n_k; k += H2O_AMX_K) {
        __m512i hi[16];
        __m512i lo[16];

        for (int i = 0; i < 16; ++i) {
            const __m512 a = _mm512_loadu_ps(rows + i*ld + k);
            const __m512 b = _mm512_loadu_ps(rows + i*ld + k + 16);

            hi[i] = h2o_pair(a, b);
            lo[i] = h2o_pair_rest(a, h2o_cut(a), b, h2o_cut(b));
        }
        // a pair of k is a double word
        h2o_transpose_16(hi);
        h2o_transpose_16(lo);

        for (int i = 0; i < 16; ++i) {
            _mm512_storeu_si512(dst.hi + k/H2O_AMX_K*H2O_AMX_TILE + i*32, hi[i]);
            _mm512_storeu_si512(dst.lo + k/H2O_AMX_K*H2O_AMX_TILE + i*32, lo[i]);
        }
    }
}

void h2o_amx_pack_rounded(const float * rows, int64_t n_k, int64_t n_rows, uint16_t * dst) {
    for (int64_t i = 0; i < n_rows; i += 16) {
        for (int64_t k = 0; k < n_k; k += H2O_AMX_K) {
            __m512i pairs[16];

            for (int j = 0; j < 16; ++j) {
                const float * row = rows + (i + j)*n_k + k;
                pairs[j] = (__m512i) _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + 16), _mm512_loadu_ps(row));
            }
            h2o_transpose_16(pairs);

            for (int j = 0; j < 16; ++j) {
                _mm512_storeu_si512(dst + i*n_k + k/H2O_AMX_K*H2O_AMX_TILE + j*32, pairs[j]);
            }
        }
    }
}

void h2o_amx_pack_rows(const float * rows, int64_t ld, int64_t n_cols, h2o_split dst, int64_t stride) {
    for (int64_t j = 0; j < n_cols; j += 16) {
        for (int i = 0; i < 16; ++i) {
            const __m512 a = _mm512_loadu_ps(rows + i*ld + j);
            const __m512 b = _mm512_loadu_ps(rows + (i + 16)*ld + j);

            _mm512_storeu_si512(dst.hi + j/16*stride + i*32, h2o_pair(a, b));
            _mm512_storeu_si512(dst.lo + j/16*stride + i*32, h2o_pair_rest(a, h2o_cut(a), b, h2o_cut(b)));
        }
    }
}

// products of two tiles of rows (4, 5) and two of columns (6, 7), added to 0 to 3
#define H2O_TILE_DOT_2X2 H2O_TILE_DOT(0, 4, 6); H2O_TILE_DOT(1, 4, 7); H2O_TILE_DOT(2, 5, 6); H2O_TILE_DOT(3, 5, 7)

static inline void h2o_zero_2x2() {
    H2O_TILE_ZERO(0);
    H2O_TILE_ZERO(1);
    H2O_TILE_ZERO(2);
    H2O_TILE_ZERO(3);
}

static inline void h2o_load_2x2(const float * c, int64_t ldc) {
    H2O_TILE_LOAD(0, c,               4*ldc);
    H2O_TILE_LOAD(1, c + 16,          4*ldc);
    H2O_TILE_LOAD(2, c + 16*ldc,      4*ldc);
    H2O_TILE_LOAD(3, c + 16*ldc + 16, 4*ldc);
}

static inline void h2o_store_2x2(void * at, int64_t ldc) {
    float * c = (float *) at;

    H2O_TILE_STORE(0, c,               4*ldc);
    H2O_TILE_STORE(1, c + 16,          4*ldc);
    H2O_TILE_STORE(2, c + 16*ldc,      4*ldc);
    H2O_TILE_STORE(3, c + 16*ldc + 16, 4*ldc);
}

void h2o_amx_gemm(
        h2o_split a, int64_t lda, h2o_split b, int64_t stride, int64_t n_k, float * c, int64_t ldc, bool onto) {
    if (onto) {
        h2o_load_2x2(c, ldc);
    } else {
        h2o_zero_2x2();
    }

    for (int64_t k = 0; k < n_k; k += H2O_AMX_K) {
        const h2o_split bk = b + k/H2O_AMX_K*H2O_AMX_TILE;

        H2O_TILE_LOAD(6, bk.hi,          64);
        H2O_TILE_LOAD(7, bk.hi + stride, 64);
        H2O_TILE_LOAD(4, a.lo + k,          2*lda);
        H2O_TILE_LOAD(5, a.lo + k + 16*lda, 2*lda);
        H2O_TILE_DOT_2X2;
        H2O_TILE_LOAD(4, a.hi + k,          2*lda);
        H2O_TILE_LOAD(5, a.hi + k + 16*lda, 2*lda);
        H2O_TILE_DOT_2X2;
        H2O_TILE_LOAD(6, bk.lo,          64);
        H2O_TILE_LOAD(7, bk.lo + stride, 64);
        H2O_TILE_DOT_2X2;
    }

    h2o_store_2x2(c, ldc);
}

void h2o_amx_gemm_int8(
        const uint8_t * a, int64_t lda, const int8_t * b, int64_t ldb, int64_t n, int32_t * c, int64_t ldc) {
    const int64_t n_bytes = h2o_amx_bytes(n);

    h2o_zero_2x2();

    for (int64_t k = 0; k < n; k += n_bytes) {
        H2O_TILE_LOAD(4, a + k,          lda);
        H2O_TILE_LOAD(5, a + k + 16*lda, lda);
        H2O_TILE_LOAD(6, b + k*ldb,      4*ldb);
        H2O_TILE_LOAD(7, b + k*ldb + 64, 4*ldb);
        H2O_TILE_DOT_INT8(0, 4, 6);
        H2O_TILE_DOT_INT8(1, 4, 7);
        H2O_TILE_DOT_INT8(2, 5, 6);
        H2O_TILE_DOT_INT8(3, 5, 7);
    }

    h2o_store_2x2(c, ldc);
}

static inline void h2o_begin_2x2(const float * sum) {
    if (sum) {
        h2o_load_2x2(sum, H2O_AMX_COLS);
    } else {
        h2o_zero_2x2();
    }
}

void h2o_amx_gemm_tiles(
        h2o_split a, int64_t stride_a, h2o_split b, int64_t stride_b, int64_t n_k, const float * sum, float * c, int64_t ldc) {
    h2o_begin_2x2(sum);

    for (int64_t k = 0; k < n_k*16; k += H2O_AMX_TILE) {
        H2O_TILE_LOAD(6, b.hi + k,            64);
        H2O_TILE_LOAD(7, b.hi + k + stride_b, 64);
        H2O_TILE_LOAD(4, a.lo + k,            64);
        H2O_TILE_LOAD(5, a.lo + k + stride_a, 64);
        H2O_TILE_DOT_2X2;
        H2O_TILE_LOAD(4, a.hi + k,            64);
        H2O_TILE_LOAD(5, a.hi + k + stride_a, 64);
        H2O_TILE_DOT_2X2;
        H2O_TILE_LOAD(6, b.lo + k,            64);
        H2O_TILE_LOAD(7, b.lo + k + stride_b, 64);
        H2O_TILE_DOT_2X2;
    }

    h2o_store_2x2(c, ldc);
}

void h2o_amx_gemm_tiles_rounded(const uint16_t * a, int64_t stride_a, const uint16_t * b, int64_t stride_b, int64_t n_k,
        const float * sum, float * c, int64_t ldc) {
    h2o_begin_2x2(sum);

    for (int64_t k = 0; k < n_k*16; k += H2O_AMX_TILE) {
        H2O_TILE_LOAD(4, a + k,            64);
        H2O_TILE_LOAD(5, a + k + stride_a, 64);
        H2O_TILE_LOAD(6, b + k,            64);
        H2O_TILE_LOAD(7, b + k + stride_b, 64);
        H2O_TILE_DOT_2X2;
    }

    h2o_store_2x2(c, ldc);
}

#endif
