// What the kernels of GGML_H2O_OP_DECODE read from the op, and how its keys are shared out.
//
// Tokens of a stream come in parts, and keys in ranges, whose number and size follow from the shape of the stream and the keys
// that a part's tokens see. Each range gives every row an online-softmax state, and these are merged in the order of the
// ranges: neither threads nor other streams change a bit.

#pragma once

#include "h2o-columns.h"

#include "../../ggml-h2o.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

// keys that are looked at together
static constexpr int64_t H2O_DECODE_TILE = 256;

// rows of a KV head that pass over a tile together: their queries and sums stay in the L2 cache
static constexpr int64_t H2O_DECODE_ROWS = 512;

// pieces of work for the threads to share, about: ranges of keys of a part and a KV head
static constexpr int64_t H2O_DECODE_PIECES = 64;

// up to so many rows of a KV head are sums of products over cells as they lie in memory, more are matrix products
#ifdef H2O_HAS_VEC
static constexpr int64_t H2O_DECODE_FEW = 8;
#else
static constexpr int64_t H2O_DECODE_FEW = INT64_MAX; // these have no vectors there
#endif

// states of some rows over a range of keys: o is not divided by sum
struct h2o_decode_state {
    float * o;   // [n][ld_v]
    float * max; // [n]
    float * sum; // [n]

    h2o_decode_state from(int64_t row, int64_t ld_v) const { return { o + row*ld_v, max + row, sum + row }; }

    // n rows that have seen no key
    void begin(int64_t n, int64_t ld_v) const {
        std::fill(o,   o   + n*ld_v, 0.0f);
        std::fill(max, max + n,      -INFINITY);
        std::fill(sum, sum + n,      0.0f);
    }
};

// What is done for one part of the tokens of a stream.
struct h2o_decode_op {
    // part: of all parts of all streams; n_kv: cells of the stream that are looked at
    h2o_decode_op(const ggml_tensor * dst, int64_t part, int64_t n_kv) :
        p(*ggml_h2o_get_decode_params(dst)),
        q(dst->src[0]), k(dst->src[1]), v(dst->src[2]), mask(dst->src[3]), sinks(dst->src[4]),
        signs(dst->src[5]), range(dst->src[6]),
        d_k(q->ne[0]), d_v(dst->ne[0]), ld_v(h2o_col_pad(d_v)), n_head_kv(k->ne[2]), n_group(q->ne[1]/n_head_kv),
        n_most(most_tokens(q->ne[2], n_group)), n_parts((q->ne[2] + n_most - 1)/n_most),
        stream(part/n_parts), token0(part%n_parts*n_most),
        n_tokens(std::min(n_most, q->ne[2] - token0)), n_rows(n_tokens*n_group), n_kv(n_kv),
        has_few_rows(n_most*n_group <= H2O_DECODE_FEW), n_pieces(has_few_rows ? 1 : n_head_kv*n_parts),
        n_range(range_size(n_kv, n_pieces)), n_ranges((n_kv + n_range - 1)/n_range) {}

    // the first part, which has as many tokens as any, with all cells
    explicit h2o_decode_op(const ggml_tensor * dst) : h2o_decode_op(dst, 0, dst->src[1]->ne[1]) {}

    const ggml_h2o_decode_params & p;

    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;
    const ggml_tensor * mask;
    const ggml_tensor * sinks;
    const ggml_tensor * signs; // of sparse decoding
    const ggml_tensor * range;

    const int64_t d_k;
    const int64_t d_v;
    const int64_t ld_v;
    const int64_t n_head_kv;
    const int64_t n_group;  // query heads of a KV head

    const int64_t n_most;   // tokens of a part
    const int64_t n_parts;  // of a stream
    const int64_t stream;
    const int64_t token0;   // of the stream, with which the part begins
    const int64_t n_tokens;
    const int64_t n_rows;   // of a KV head: token*n_group + head of the group
    const int64_t n_kv;

    const bool    has_few_rows;
    const int64_t n_pieces; // of a range of a stream
    const int64_t n_range;  // keys
    const int64_t n_ranges;

    // parts of about one size
    static int64_t most_tokens(int64_t n_tokens, int64_t n_group) {
        const int64_t most    = std::max<int64_t>(GGML_H2O_DECODE_SPARSE_MAX, H2O_DECODE_ROWS/n_group);
        const int64_t n_parts = (n_tokens + most - 1)/most;

        return (n_tokens + n_parts - 1)/n_parts;
    }

    // whole tiles
    static int64_t range_size(int64_t n_kv, int64_t n_pieces) {
        const int64_t n_tiles = (n_kv + H2O_DECODE_TILE - 1)/H2O_DECODE_TILE;

        return std::max<int64_t>(1, n_tiles*std::min(n_pieces, H2O_DECODE_PIECES)/H2O_DECODE_PIECES)*H2O_DECODE_TILE;
    }

    // ranges of any n_kv up to this one
    int64_t max_ranges() const {
        const int64_t n_tiles = (n_kv + H2O_DECODE_TILE - 1)/H2O_DECODE_TILE;

        return n_pieces >= H2O_DECODE_PIECES ? 1 : std::min(n_tiles, 2*H2O_DECODE_PIECES/n_pieces + 1);
    }

    // of the stream
    const char * data(const ggml_tensor * t) const { return (const char *) t->data + stream*t->nb[3]; }

    const float * query(int64_t ih, int64_t row) const {
        return (const float *) (data(q) + (token0 + row/n_group)*q->nb[2] + (ih*n_group + row%n_group)*q->nb[1]);
    }

    // what the mask says of a token of the part
    const char * mask_row(int64_t t) const { return data(mask) + (token0 + t)*mask->nb[1]; }

    // floats of the state of a range
    int64_t size_state() const { return n_head_kv*n_rows*(ld_v + 2); }

    // rows of all KV heads: ih*n_rows + row
    h2o_decode_state state(float * states, int64_t range) const {
        float * at = states + range*size_state();
        return { at, at + n_head_kv*n_rows*ld_v, at + n_head_kv*n_rows*(ld_v + 1) };
    }
};
