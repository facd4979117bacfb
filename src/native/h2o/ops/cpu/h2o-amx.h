// Matrix products in AMX tiles. Of BF16, added up in F32, split products are as exact as those in F32: every value is the
// sum of two BF16, and the three larger of the four products count. The fourth is 2^-16 of the whole. Products of 8 bits,
// added up in 32, are for scores.

#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BF16__) && defined(__x86_64__) && defined(__linux__)
#define H2O_HAS_AMX
#endif

// whether this processor has the tiles and the kernel lets the process use them
bool h2o_amx_available();

#ifdef H2O_HAS_AMX

#include <cstdint>

// rows of a left side and columns of a right side that a product takes at once: two tiles each
static constexpr int64_t H2O_AMX_ROWS = 32;
static constexpr int64_t H2O_AMX_COLS = 32;

// inner dimension of a tile
static constexpr int64_t H2O_AMX_K = 32;

// values of a tile of the right side: 16 pairs of k, 16 columns, 2
static constexpr int64_t H2O_AMX_TILE = 512;

// Two BF16 that make one value. Of the 32 values of a row that a tile takes, i and i + 16 are a pair, and so are rows i and
// i + 16 of the other side.
struct h2o_split {
    uint16_t * hi;
    uint16_t * lo;

    h2o_split operator+(int64_t i) const { return { hi + i, lo + i }; }
};

// This thread's tiles are ours while it lives; then they are as they were: ggml's own products keep theirs configured.
class h2o_amx_scope {
public:
    // n_bytes: of a row of the left side that a product takes, a multiple of 16 and 64 at most. A column of the right
    // side has as many
    explicit h2o_amx_scope(int64_t n_bytes = 64);
    ~h2o_amx_scope();

    h2o_amx_scope(const h2o_amx_scope &) = delete;
    h2o_amx_scope & operator=(const h2o_amx_scope &) = delete;

private:
    alignas(64) uint8_t saved[64];
};

// n values, a multiple of 32
void h2o_amx_split(const float * src, h2o_split dst, int64_t n);

// n values, a multiple of 16, in order
void h2o_amx_round(const float * src, uint16_t * dst, int64_t n);

// 16 columns of a right side from rows that hold one column each, such as keys: tiles of 32 values of each row
//   rows [16][ld], n_k: a multiple of 32
//   dst  [n_k/32] tiles
void h2o_amx_pack_columns(const float * rows, int64_t ld, int64_t n_k, h2o_split dst);

// the same of n_rows rows of n_k values, rounded: tiles [n_rows/16][n_k/32]
void h2o_amx_pack_rounded(const float * rows, int64_t n_k, int64_t n_rows, uint16_t * dst);

// 32 rows of a right side, such as values: tiles of 16 of their columns
//   rows [32][ld], n_cols: a multiple of 16
//   dst  tile of column group i at i*stride
void h2o_amx_pack_rows(const float * rows, int64_t ld, int64_t n_cols, h2o_split dst, int64_t stride);

// c [32][ldc] = a [32][lda] * b, 32 columns of it: tiles [n_k/32]
// of the first 16 columns, those of the second at `stride`. With `onto` it is added to what c holds
void h2o_amx_gemm(
        h2o_split a, int64_t lda, h2o_split b, int64_t stride, int64_t n_k, float * c, int64_t ldc, bool onto = false);

// the bytes of rows of n, a multiple of 16, that a product takes at once: n is a multiple of them
static inline int64_t h2o_amx_bytes(int64_t n) {
    return n <= 64 ? n : n % 64 == 0 ? 64 : n % 32 == 0 ? 32 : 16;
}

// c [32][ldc] = a [32][lda] * b, values of 8 bits added up in 32, within a scope of h2o_amx_bytes(n)
//   a has no signs; b [n/4][ldb][4] from the first of its 32 columns on
void h2o_amx_gemm_int8(
        const uint8_t * a, int64_t lda, const int8_t * b, int64_t ldb, int64_t n, int32_t * c, int64_t ldc);

// c [32][ldc] = a * b + sum, where sum [32][32] may be null: a tiles [n_k/32] of the first 16 rows, those of the second
// at stride_a, b likewise of columns
void h2o_amx_gemm_tiles(
        h2o_split a, int64_t stride_a, h2o_split b, int64_t stride_b, int64_t n_k, const float * sum, float * c, int64_t ldc);
void h2o_amx_gemm_tiles_rounded(const uint16_t * a, int64_t stride_a, const uint16_t * b, int64_t stride_b, int64_t n_k,
        const float * sum, float * c, int64_t ldc);

#endif
