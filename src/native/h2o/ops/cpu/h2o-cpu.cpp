#include "h2o-cpu.h"

#include "decode/h2o-decode.h"
#include "decode/h2o-signs.h"
#include "h2o-attn-amx.h"
#include "h2o-attn-blocks.h"
#include "h2o-attn-inputs.h"
#include "h2o-attn-int16.h"
#include "h2o-attn-kernel.h"
#include "h2o-estimate.h"
#include "h2o-index.h"
#include "h2o-order.h"
#include "h2o-query.h"
#include "h2o-select.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <iterator>

// one KV head of the three sources of SELECT and LOOKUP
static h2o_tracked_head h2o_tracked_at(const ggml_tensor * dst, int64_t ih) {
    const ggml_tensor * mem_pos     = dst->src[0];
    const ggml_tensor * mem_score   = dst->src[1];
    const ggml_tensor * chunk_score = dst->src[2];

    return {
        (const int32_t *) ((const char *) mem_pos->data     + ih*mem_pos->nb[1]),
        (const float   *) ((const char *) mem_score->data   + ih*mem_score->nb[1]),
        (const float   *) ((const char *) chunk_score->data + ih*chunk_score->nb[1]),
        ggml_h2o_get_op_params(dst)->tracked,
    };
}

static size_t h2o_candidates_per_head(const ggml_tensor * dst) {
    const ggml_h2o_tracked & tracked = ggml_h2o_get_op_params(dst)->tracked;

    return tracked.n_mem + tracked.n_chunk;
}

static void h2o_forward_select(const ggml_compute_params * params, ggml_tensor * dst) {
    const ggml_h2o_op_params & p = *ggml_h2o_get_op_params(dst);

    char * work = (char *) params->wdata + params->ith*h2o_select_work_size(h2o_candidates_per_head(dst));

    for (int64_t ih = params->ith; ih < dst->ne[1]; ih += params->nth) {
        h2o_select_head(h2o_tracked_at(dst, ih), p, work,
                (int32_t *) ((char *) dst->data + ih*dst->nb[1]));
    }
}

static void h2o_forward_lookup(const ggml_compute_params * params, ggml_tensor * dst) {
    const ggml_tensor * set = dst->src[3];

    for (int64_t ih = params->ith; ih < dst->ne[1]; ih += params->nth) {
        h2o_lookup_head(h2o_tracked_at(dst, ih),
                (const int32_t *) ((const char *) set->data + ih*set->nb[1]), set->ne[0],
                (float         *) ((      char *) dst->data + ih*dst->nb[1]));
    }
}

struct h2o_attn_path {
    bool   (*supported)(const ggml_tensor * dst);
    void   (*forward)  (const ggml_compute_params * params, ggml_tensor * dst);
    size_t (*work_size)(const ggml_tensor * dst, int n_tasks);
};

// the first that supports an op takes it
static const h2o_attn_path & h2o_attn_path_of(const ggml_tensor * dst) {
    static const h2o_attn_path paths[] = {
        { h2o_attn_amx_supported,             h2o_forward_attn_amx,    h2o_attn_amx_work_size    },
        { h2o_attn_int16_supported,           h2o_forward_attn_int16,  h2o_attn_int16_work_size  },
        { h2o_has_blocks,                     h2o_forward_attn_blocks, h2o_attn_blocks_work_size },
        { [](const ggml_tensor *) { return true; }, h2o_forward_attn,  h2o_attn_work_size        },
    };
    return *std::find_if(std::begin(paths), std::end(paths), [&](const h2o_attn_path & path) { return path.supported(dst); });
}

void ggml_compute_forward_h2o(const ggml_compute_params * params, ggml_tensor * dst) {
    switch (ggml_h2o_get_op(dst)) {
        case GGML_H2O_OP_SELECT:    h2o_forward_select   (params, dst); break;
        case GGML_H2O_OP_LOOKUP:    h2o_forward_lookup   (params, dst); break;
        case GGML_H2O_OP_ATTN:      h2o_attn_path_of(dst).forward(params, dst); break;
        case GGML_H2O_OP_PAGES:     h2o_forward_pages    (params, dst); break;
        case GGML_H2O_OP_ORDER:     h2o_forward_order    (params, dst); break;
        case GGML_H2O_OP_QUERY:     h2o_forward_query    (params, dst); break;
        case GGML_H2O_OP_ESTIMATE:  h2o_forward_estimate (params, dst); break;
        case GGML_H2O_OP_DECODE:    h2o_forward_decode   (params, dst); break;
        case GGML_H2O_OP_SIGNS:     h2o_forward_signs    (params, dst); break;
        default: GGML_ABORT("unknown sub-op of GGML_OP_H2O");
    }
}

size_t ggml_h2o_work_size(const ggml_tensor * dst, int n_tasks) {
    switch (ggml_h2o_get_op(dst)) {
        case GGML_H2O_OP_ATTN:     return h2o_attn_path_of(dst).work_size(dst, n_tasks);
        case GGML_H2O_OP_PAGES:    return h2o_index_work_size   (dst, n_tasks);
        case GGML_H2O_OP_ORDER:    return h2o_order_work_size   (dst, n_tasks);
        case GGML_H2O_OP_QUERY:    return h2o_query_work_size   (dst, n_tasks);
        case GGML_H2O_OP_ESTIMATE: return h2o_estimate_work_size(dst, n_tasks);
        case GGML_H2O_OP_DECODE:   return h2o_decode_work_size  (dst, n_tasks);
        case GGML_H2O_OP_SIGNS:    return h2o_signs_work_size   (dst, n_tasks);
        case GGML_H2O_OP_SELECT:   return n_tasks*h2o_select_work_size(h2o_candidates_per_head(dst));
        default:                   return 0;
    }
}
