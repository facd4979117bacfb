// What the kernels of GGML_H2O_OP_DECODE read from the op, and how its keys are shared out.
//
// Keys come in ranges, whose number and size follow from the shape of a stream's part and the keys that its tokens see. Each
// range gives every row an online-softmax state, and these are merged in the order of the ranges: neither threads nor other
// streams change a bit.

#pragma once

#include "h2o-columns.h"

#include "../../ggml-h2o.h"

#include <algorithm>
#include <cstdint>

// keys that are looked at together
static constexpr int64_t H2O_DECODE_TILE = 256;

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
};

// What is done for one stream of the cache.
struct h2o_decode_op {
    // n_kv: cells of it that are looked at
    h2o_decode_op(const ggml_tensor * dst, int64_t stream, int64_t n_kv) :
        p(*ggml_h2o_get_decode_params(dst)),
        q(dst->src[0]), k(dst->src[1]), v(dst->src[2]), mask(dst->src[3]), sinks(dst->src[4]),
        signs(dst->src[5]), range(dst->src[6]), stream(stream),
        d_k(q->ne[0]), d_v(dst->ne[0]), ld_v(h2o_col_pad(d_v)), n_head_kv(k->ne[2]), n_group(q->ne[1]/n_head_kv),
        n_tokens(q->ne[2]), n_rows(n_tokens*n_group), n_kv(n_kv), has_few_rows(n_rows <= H2O_DECODE_FEW),
        n_range(range_size(n_kv, has_few_rows ? 1 : n_head_kv)), n_ranges((n_kv + n_range - 1)/n_range) {}

    // the first stream, with all cells
    explicit h2o_decode_op(const ggml_tensor * dst) : h2o_decode_op(dst, 0, dst->src[1]->ne[1]) {}

    const ggml_h2o_decode_params & p;

    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;
    const ggml_tensor * mask;
    const ggml_tensor * sinks;
    const ggml_tensor * signs; // of sparse decoding
    const ggml_tensor * range;

    const int64_t stream;

    const int64_t d_k;
    const int64_t d_v;
    const int64_t ld_v;
    const int64_t n_head_kv;
    const int64_t n_group;  // query heads of a KV head
    const int64_t n_tokens; // of the stream
    const int64_t n_rows;   // of a KV head: token*n_group + head of the group
    const int64_t n_kv;

    const bool    has_few_rows;
    const int64_t n_range;  // keys
    const int64_t n_ranges;

    // some 64 pieces of work, of whole tiles, for a range of so many KV heads each
    static int64_t range_size(int64_t n_kv, int64_t n_pieces) {
        const int64_t n_tiles = (n_kv + H2O_DECODE_TILE - 1)/H2O_DECODE_TILE;

        return std::max<int64_t>(1, n_tiles*n_pieces/64)*H2O_DECODE_TILE;
    }

    // ranges of any n_kv up to this one
    int64_t max_ranges() const {
        return std::min<int64_t>((n_kv + H2O_DECODE_TILE - 1)/H2O_DECODE_TILE, 128/(has_few_rows ? 1 : n_head_kv) + 1);
    }

    // the stream's part of q, k, v or the mask
    const char * data(const ggml_tensor * t) const { return (const char *) t->data + stream*t->nb[3]; }

    const float * query(int64_t ih, int64_t row) const {
        return (const float *) (data(q) + row/n_group*q->nb[2] + (ih*n_group + row%n_group)*q->nb[1]);
    }

    // floats of the state of a range
    int64_t size_state() const { return n_head_kv*n_rows*(ld_v + 2); }

    // rows of all KV heads: ih*n_rows + row
    h2o_decode_state state(float * states, int64_t range) const {
        float * at = states + range*size_state();
        return { at, at + n_head_kv*n_rows*ld_v, at + n_head_kv*n_rows*(ld_v + 1) };
    }
};
