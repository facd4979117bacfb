#include "h2o-decode.h"

#include "h2o-decode-amx.h"
#include "h2o-decode-few.h"
#include "h2o-decode-many.h"
#include "h2o-decode-mask.h"
#include "h2o-decode-op.h"
#include "h2o-decode-sparse.h"
#include "h2o-share.h"

#include <cmath>

// Two steps, each shared by all threads: ranges of keys of each part of tokens, then rows whose states over all ranges are
// merged.

static constexpr int64_t H2O_LINE = H2O_ALIGN/sizeof(float); // floats of a cache line

// cells of a stream up to the last tile that any token of a part sees
static int64_t h2o_decode_n_tiled(const h2o_decode_op & op) {
    int64_t n = 0;
    for (int64_t t = op.n_tokens - 1; t >= 0; --t) { // the last one sees most
        n = h2o_decode_n_seen(op, t, n);
    }
    return std::min<int64_t>(GGML_PAD(n, H2O_DECODE_TILE), op.n_kv);
}

// floats of all states
static int64_t h2o_decode_states_size(const h2o_decode_op & op, int64_t n_streams) {
    return n_streams*op.n_parts*op.max_ranges()*op.size_state();
}

static int64_t h2o_decode_thread_size(const h2o_decode_op & op) {
    return GGML_PAD(
            op.has_few_rows              ? h2o_decode_few_work_size (op) :
            h2o_decode_amx_supported(op) ? h2o_decode_amx_work_size (op) :
                                           h2o_decode_many_work_size(op), H2O_LINE);
}

// the output of one row of all KV heads' rows of a part
static void h2o_decode_merge(const h2o_decode_op & op, float * states, int64_t at, ggml_tensor * dst) {
    const int64_t head  = at/op.n_rows*op.n_group + at%op.n_group;
    const int64_t token = at%op.n_rows/op.n_group;

    const float sink = op.sinks ? ((const float *) op.sinks->data)[head] : -INFINITY;

    float max = sink;
    for (int64_t i = 0; i < op.n_ranges; ++i) {
        max = std::max(max, op.state(states, i).max[at]);
    }
    // of a maximum there may be none: then weights are 0, and what is not a number stays so
    const auto weight = [&](float x) { return x == -INFINITY ? 0.0f : expf(x - max); };

    float * out = (float *) ((char *) dst->data + op.stream*dst->nb[3] + (op.token0 + token)*dst->nb[2] + head*dst->nb[1]);
    std::fill(out, out + op.d_v, 0.0f);

    float sum = weight(sink);
    for (int64_t i = 0; i < op.n_ranges; ++i) {
        const h2o_decode_state state = op.state(states, i).from(at, op.ld_v);

        const float w = weight(*state.max);
        for (int64_t j = 0; j < op.d_v; ++j) {
            out[j] += w*state.o[j];
        }
        sum += w*(*state.sum);
    }

    const float scale = sum == 0.0f ? 0.0f : 1.0f/sum;
    for (int64_t j = 0; j < op.d_v; ++j) {
        out[j] *= scale;
    }
}

void h2o_forward_decode(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_decode_op all(dst);

    if (all.p.n_heavy > 0) {
        h2o_forward_decode_sparse(params, dst);
        return;
    }

    const int64_t n_parts  = dst->ne[3]*all.n_parts;
    const int64_t n_ranges = all.max_ranges();
    const int64_t n_heads  = all.has_few_rows ? 1 : all.n_head_kv; // pieces of a range

    float * base = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN);
    float * work = base + GGML_PAD(h2o_decode_states_size(all, dst->ne[3]), H2O_LINE) + params->ith*h2o_decode_thread_size(all);

    int32_t n_kv[GGML_H2O_DECODE_MAX];
    for (int64_t i = 0; i < n_parts; ++i) {
        n_kv[i] = h2o_decode_n_tiled(h2o_decode_op(dst, i, all.n_kv));
    }
    const auto states_of = [&](int64_t part) { return base + part*n_ranges*all.size_state(); };

    const auto h2o_decode_tiles = h2o_decode_amx_supported(all) ? h2o_decode_amx : h2o_decode_many;

    h2o_share_out(params, n_parts*n_ranges*n_heads, [&](int64_t i) {
        const int64_t part  = i/(n_ranges*n_heads);
        const int64_t range = i/n_heads%n_ranges;
        const int64_t ih    = i%n_heads;

        const h2o_decode_op op(dst, part, n_kv[part]);
        if (range >= op.n_ranges) {
            return;
        }
        const h2o_decode_state state = op.state(states_of(part), range).from(ih*op.n_rows, op.ld_v);

        if (op.has_few_rows) {
            h2o_decode_few(op, work, range, state);
        } else {
            h2o_decode_tiles(op, work, ih, range, state);
        }
    });
    ggml_barrier(params->threadpool);

    for (int64_t part = 0; part < n_parts; ++part) {
        const h2o_decode_op op(dst, part, n_kv[part]);

        for (int64_t i = params->ith; i < op.n_head_kv*op.n_rows; i += params->nth) {
            h2o_decode_merge(op, states_of(part), i, dst);
        }
    }
}

size_t h2o_decode_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_decode_op op(dst);

    if (op.p.n_heavy > 0) {
        return h2o_decode_sparse_work_size(dst, n_tasks);
    }
    return (GGML_PAD(h2o_decode_states_size(op, dst->ne[3]), H2O_LINE) + n_tasks*h2o_decode_thread_size(op) + H2O_LINE)*sizeof(float);
}
