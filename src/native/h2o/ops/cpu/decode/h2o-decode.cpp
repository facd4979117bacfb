#include "h2o-decode.h"

#include "h2o-decode-amx.h"
#include "h2o-decode-few.h"
#include "h2o-decode-many.h"
#include "h2o-decode-op.h"
#include "h2o-decode-sparse.h"

#include "ggml-cpu-impl.h"

#include <cmath>

// Two steps, each shared by all threads: ranges of keys, then rows whose states over all ranges are merged.

static constexpr int64_t H2O_ALIGN = 16; // floats of a cache line

static int64_t h2o_decode_thread_size(const h2o_decode_op & op) {
    return GGML_PAD(
            op.has_few_rows              ? h2o_decode_few_work_size (op) :
            h2o_decode_amx_supported(op) ? h2o_decode_amx_work_size (op) :
                                           h2o_decode_many_work_size(op), H2O_ALIGN);
}

static void h2o_decode_begin(const h2o_decode_op & op, h2o_decode_state state, int64_t n_rows) {
    std::fill(state.o,   state.o   + n_rows*op.ld_v, 0.0f);
    std::fill(state.max, state.max + n_rows,         -INFINITY);
    std::fill(state.sum, state.sum + n_rows,         0.0f);
}

// the output of one row of all KV heads' rows
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

    float * out = (float *) ((char *) dst->data + token*dst->nb[2] + head*dst->nb[1]);
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
    const h2o_decode_op op(dst);

    if (op.p.n_heavy > 0) {
        h2o_forward_decode_sparse(params, dst);
        return;
    }

    float * states = (float *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN*sizeof(float));
    float * work   = states + GGML_PAD(op.size_states(), H2O_ALIGN) + params->ith*h2o_decode_thread_size(op);

    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);

    const auto h2o_decode_tiles = h2o_decode_amx_supported(op) ? h2o_decode_amx : h2o_decode_many;

    const int64_t n_pieces = op.n_ranges*(op.has_few_rows ? 1 : op.n_head_kv);

    for (int64_t i = params->ith; i < n_pieces; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        if (op.has_few_rows) {
            const h2o_decode_state state = op.state(states, i);

            h2o_decode_begin(op, state, op.n_head_kv*op.n_rows);
            h2o_decode_few(op, work, i, state);
        } else {
            const int64_t ih    = i%op.n_head_kv;
            const int64_t range = i/op.n_head_kv;

            const h2o_decode_state state = op.state(states, range).from(ih*op.n_rows, op.ld_v);

            h2o_decode_begin(op, state, op.n_rows);
            h2o_decode_tiles(op, work, ih, range, state);
        }
    }

    ggml_barrier(params->threadpool);

    for (int64_t at = params->ith; at < op.n_head_kv*op.n_rows; at += params->nth) {
        h2o_decode_merge(op, states, at, dst);
    }
}

size_t h2o_decode_work_size(const ggml_tensor * dst, int n_tasks) {
    const h2o_decode_op op(dst);

    return op.p.n_heavy > 0 ? h2o_decode_sparse_work_size(dst, n_tasks) : (GGML_PAD(op.size_states(), H2O_ALIGN) + n_tasks*h2o_decode_thread_size(op) + H2O_ALIGN)*sizeof(float);
}
