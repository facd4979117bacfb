// Graph constructors of GGML_OP_H2O; part of the ggml-base target.

#include "ggml-h2o.h"

#include "ggml-impl.h"

static_assert(sizeof(ggml_h2o_op_params)   <= GGML_MAX_OP_PARAMS, "the parameters of GGML_OP_H2O must fit op_params");
static_assert(sizeof(ggml_h2o_attn_params) <= GGML_MAX_OP_PARAMS, "the parameters of GGML_OP_H2O must fit op_params");
static_assert(sizeof(ggml_h2o_query_params) <= GGML_MAX_OP_PARAMS, "the parameters of GGML_OP_H2O must fit op_params");

// SELECT or LOOKUP: [n, n_head_kv] from the tracked positions and their scores
static ggml_tensor * ggml_h2o_of_tracked(
        ggml_context       * ctx,
        ggml_type            type,
        int64_t              n,
        ggml_tensor        * mem_pos,
        ggml_tensor        * mem_score,
        ggml_tensor        * chunk_score,
        ggml_h2o_op_params   params) {
    GGML_ASSERT(mem_pos->type == GGML_TYPE_I32 && mem_score->type == GGML_TYPE_F32 && chunk_score->type == GGML_TYPE_F32);
    GGML_ASSERT(mem_pos->nb[0] == sizeof(int32_t) && mem_score->nb[0] == sizeof(float) && chunk_score->nb[0] == sizeof(float));
    GGML_ASSERT(mem_pos->ne[0]     >= params.tracked.n_mem);
    GGML_ASSERT(mem_score->ne[0]   >= params.tracked.n_mem);
    GGML_ASSERT(chunk_score->ne[0] >= params.tracked.n_chunk);
    GGML_ASSERT(mem_pos->ne[1] == mem_score->ne[1] && mem_pos->ne[1] == chunk_score->ne[1]);

    ggml_tensor * result = ggml_new_tensor_2d(ctx, type, n, mem_pos->ne[1]);

    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = mem_pos;
    result->src[1] = mem_score;
    result->src[2] = chunk_score;

    return result;
}

ggml_tensor * ggml_h2o_select(
        ggml_context   * ctx,
        ggml_tensor    * mem_pos,
        ggml_tensor    * mem_score,
        ggml_tensor    * chunk_score,
        ggml_h2o_tracked tracked,
        int32_t          pos,
        int32_t          n_local,
        int32_t          n_heavy) {
    GGML_ASSERT(pos > 0 && n_local >= 0 && n_heavy >= 0 && n_local + n_heavy > 0);

    return ggml_h2o_of_tracked(ctx, GGML_TYPE_I32, MIN(pos, n_local + n_heavy), mem_pos, mem_score, chunk_score,
            { GGML_H2O_OP_SELECT, tracked, pos, n_local, n_heavy });
}

ggml_tensor * ggml_h2o_lookup(
        ggml_context   * ctx,
        ggml_tensor    * set,
        ggml_tensor    * mem_pos,
        ggml_tensor    * mem_score,
        ggml_tensor    * chunk_score,
        ggml_h2o_tracked tracked) {
    GGML_ASSERT(set->type == GGML_TYPE_I32 && set->nb[0] == sizeof(int32_t) && set->ne[1] == mem_pos->ne[1]);

    ggml_tensor * result = ggml_h2o_of_tracked(ctx, GGML_TYPE_F32, set->ne[0], mem_pos, mem_score, chunk_score,
            { GGML_H2O_OP_LOOKUP, tracked, 0, 0, 0 });

    result->src[3] = set;

    return result;
}

// whether `order` can be that of queries [d, n_head, n_queries]
static bool ggml_h2o_is_order(const ggml_tensor * order, const ggml_tensor * q) {
    return order->type == GGML_TYPE_I32 && ggml_is_contiguous(order) && order->ne[0] == q->ne[2] && order->ne[1] == q->ne[1];
}

static int64_t ggml_h2o_n_sets(int64_t n_queries) {
    return (n_queries + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK;
}

ggml_tensor * ggml_h2o_attn(
        ggml_context * ctx,
        ggml_tensor  * q,
        ggml_tensor  * k,
        ggml_tensor  * v,
        ggml_tensor  * set,
        ggml_tensor  * order,
        ggml_tensor  * o,
        ggml_tensor  * lse,
        bool           v_trans,
        bool           causal,
        bool           votes,
        float          scale) {
    const int64_t n_head    = q->ne[1];
    const int64_t n_head_kv = k->ne[2];
    const int64_t n_queries = q->ne[2];
    const int64_t n_chunks  = q->ne[3];
    const int64_t n_states  = n_head*n_queries*n_chunks;
    const int64_t n_keys    = set ? set->ne[0] : k->ne[1];
    const int64_t d_v       = v->ne[v_trans ? 1 : 0];

    GGML_ASSERT(q->type == GGML_TYPE_F32 && ggml_is_contiguous(q));
    GGML_ASSERT(q->ne[0] == k->ne[0] && n_head % n_head_kv == 0 && n_head_kv == v->ne[2] && n_chunks == k->ne[3] && n_chunks == v->ne[3]);
    GGML_ASSERT(k->ne[1] == v->ne[v_trans ? 0 : 1]);
    GGML_ASSERT(k->nb[0] == ggml_type_size(k->type) && v->nb[0] == ggml_type_size(v->type));
    GGML_ASSERT(!v_trans || !ggml_is_quantized(v->type));
    GGML_ASSERT(!set || (set->type == GGML_TYPE_I32 && set->nb[0] == sizeof(int32_t) && n_chunks == 1));
    GGML_ASSERT(!set || (set->ne[1] == n_head_kv && set->ne[2] == 1) || (set->ne[1] == n_head && set->ne[2] == ggml_h2o_n_sets(n_queries) && !votes));
    GGML_ASSERT(!order || (set && set->ne[1] == n_head && set->ne[2] == ggml_h2o_n_sets(n_queries) && !votes));
    GGML_ASSERT(!order || ggml_h2o_is_order(order, q));
    GGML_ASSERT(!causal || (!set && n_queries <= n_keys));
    GGML_ASSERT(!o == !lse);
    GGML_ASSERT(!o || (ggml_is_contiguous(o)   && ggml_nelements(o)   == n_states*d_v));
    GGML_ASSERT(!o || (ggml_is_contiguous(lse) && ggml_nelements(lse) == n_states));

    ggml_tensor * result = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, (d_v + 1)*n_states + (votes ? n_keys*n_head_kv*n_chunks : 0));

    const ggml_h2o_attn_params params = { GGML_H2O_OP_ATTN, v_trans, causal, votes, scale };
    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = q;
    result->src[1] = k;
    result->src[2] = v;
    result->src[3] = set;
    result->src[4] = o;
    result->src[5] = lse;
    result->src[6] = order;

    return result;
}

ggml_tensor * ggml_h2o_pages(
        ggml_context * ctx, ggml_tensor * kv, ggml_tensor * pages, bool trans, int32_t begin, int32_t end) {
    GGML_ASSERT(0 <= begin && begin < end && end <= pages->ne[1] && (int64_t) end*GGML_H2O_PAGE <= kv->ne[trans ? 0 : 1]);
    GGML_ASSERT(kv->nb[0] == ggml_type_size(kv->type) && kv->ne[trans ? 1 : 0] == pages->ne[0] && kv->ne[2] == pages->ne[2]);
    GGML_ASSERT(!trans || !ggml_is_quantized(kv->type));
    GGML_ASSERT(pages->type == GGML_TYPE_F32 && ggml_is_contiguous(pages));

    ggml_tensor * result = ggml_view_tensor(ctx, pages);

    const ggml_h2o_index_params params = { GGML_H2O_OP_PAGES, trans, begin, end };
    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = kv;
    result->src[1] = pages;

    return result;
}

ggml_tensor * ggml_h2o_order(ggml_context * ctx, ggml_tensor * q) {
    GGML_ASSERT(q->type == GGML_TYPE_F32 && ggml_is_contiguous(q) && q->ne[3] == 1);

    ggml_tensor * result = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, q->ne[2], q->ne[1]);

    const int32_t op = GGML_H2O_OP_ORDER;
    ggml_set_op_params(result, &op, sizeof(op));

    result->op     = GGML_OP_H2O;
    result->src[0] = q;

    return result;
}

ggml_tensor * ggml_h2o_query(
        ggml_context * ctx,
        ggml_tensor  * q,
        ggml_tensor  * order,
        ggml_tensor  * lse,
        ggml_tensor  * k,
        ggml_tensor  * pages,
        int32_t        pos,
        int32_t        n_local,
        int32_t        n_heavy,
        float          scale) {
    const int64_t n_head_kv = k->ne[2];
    const int32_t n_cand    = pos - MIN(n_local, pos);

    GGML_ASSERT(n_cand > 0 && n_heavy > 0 && n_cand <= k->ne[1]);
    GGML_ASSERT(q->type == GGML_TYPE_F32 && ggml_is_contiguous(q) && q->ne[0] == k->ne[0] && q->ne[1] % n_head_kv == 0);
    GGML_ASSERT(lse->type == GGML_TYPE_F32 && ggml_is_contiguous(lse) && ggml_nelements(lse) == q->ne[1]*q->ne[2]);
    GGML_ASSERT(k->nb[0] == ggml_type_size(k->type) && q->ne[3] == 1 && k->ne[3] == 1);
    GGML_ASSERT(pages->type == GGML_TYPE_F32 && ggml_is_contiguous(pages) && pages->ne[0] == k->ne[0] && pages->ne[2] == n_head_kv);
    GGML_ASSERT(!order || ggml_h2o_is_order(order, q));

    ggml_h2o_query_params params = {};
    params.op      = GGML_H2O_OP_QUERY;
    params.n_cand  = n_cand;
    params.n_pages = n_cand/GGML_H2O_PAGE;
    params.scale   = scale;
    params.least   = logf(4.0f/MAX(n_cand, 16384));

    GGML_ASSERT(params.n_pages <= pages->ne[1]);

    ggml_tensor * result = ggml_new_tensor_3d(ctx, GGML_TYPE_I32, MIN(n_cand, n_heavy), q->ne[1], ggml_h2o_n_sets(q->ne[2]));

    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = q;
    result->src[1] = lse;
    result->src[2] = k;
    result->src[3] = pages;
    result->src[4] = order;

    return result;
}

ggml_tensor * ggml_h2o_estimate(
        ggml_context * ctx,
        ggml_tensor  * q,
        ggml_tensor  * keys,
        ggml_tensor  * values,
        ggml_tensor  * set,
        ggml_tensor  * order,
        ggml_tensor  * o,
        ggml_tensor  * lse,
        int32_t        n_cand,
        float          scale) {
    const int64_t n_states = q->ne[1]*q->ne[2];
    const int32_t n_pages  = n_cand/GGML_H2O_PAGE;

    GGML_ASSERT(q->type == GGML_TYPE_F32 && ggml_is_contiguous(q) && q->ne[0] == keys->ne[0] && q->ne[3] == 1);
    GGML_ASSERT(keys->type == GGML_TYPE_F32 && ggml_is_contiguous(keys) && n_pages > 1 && n_pages <= keys->ne[1]);
    GGML_ASSERT(values->type == GGML_TYPE_F32 && ggml_is_contiguous(values) && n_pages <= values->ne[1]);
    GGML_ASSERT(keys->ne[2] == values->ne[2] && q->ne[1] % keys->ne[2] == 0);
    GGML_ASSERT(set->type == GGML_TYPE_I32 && set->nb[0] == sizeof(int32_t) && set->ne[1] == q->ne[1] && set->ne[2] == ggml_h2o_n_sets(q->ne[2]));
    GGML_ASSERT(!order || ggml_h2o_is_order(order, q));
    GGML_ASSERT(o->type   == GGML_TYPE_F32 && ggml_is_contiguous(o)   && ggml_nelements(o)   == n_states*values->ne[0]);
    GGML_ASSERT(lse->type == GGML_TYPE_F32 && ggml_is_contiguous(lse) && ggml_nelements(lse) == n_states);

    ggml_tensor * result = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, (values->ne[0] + 1)*n_states);

    const ggml_h2o_estimate_params params = { GGML_H2O_OP_ESTIMATE, n_pages, scale };
    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = q;
    result->src[1] = keys;
    result->src[2] = values;
    result->src[3] = set;
    result->src[4] = order;
    result->src[5] = o;
    result->src[6] = lse;

    return result;
}

ggml_tensor * ggml_h2o_decode(
        ggml_context * ctx,
        ggml_tensor  * q,
        ggml_tensor  * k,
        ggml_tensor  * v,
        ggml_tensor  * mask,
        ggml_tensor  * sinks,
        bool           v_trans,
        float          scale,
        float          cap) {
    const int64_t n_head    = q->ne[1];
    const int64_t n_tokens  = q->ne[2];
    const int64_t n_streams = q->ne[3];
    const int64_t n_kv      = k->ne[1];

    GGML_ASSERT(q->type == GGML_TYPE_F32 && q->nb[0] == sizeof(float) && n_tokens*n_streams <= GGML_H2O_DECODE_MAX);
    GGML_ASSERT(k->ne[3] == n_streams && v->ne[3] == n_streams && mask->ne[3] == n_streams);
    GGML_ASSERT(q->ne[0] == k->ne[0] && n_head % k->ne[2] == 0 && k->ne[2] == v->ne[2] && n_kv == v->ne[v_trans ? 0 : 1]);
    GGML_ASSERT(k->nb[0] == ggml_type_size(k->type) && v->nb[0] == ggml_type_size(v->type));
    GGML_ASSERT(!v_trans || !ggml_is_quantized(v->type));
    GGML_ASSERT(mask->type == GGML_TYPE_F16 || mask->type == GGML_TYPE_F32);
    GGML_ASSERT(mask->ne[0] == n_kv && mask->ne[1] >= n_tokens && mask->nb[0] == ggml_type_size(mask->type));
    GGML_ASSERT(!sinks || (sinks->type == GGML_TYPE_F32 && ggml_is_contiguous(sinks) && sinks->ne[0] == n_head));

    ggml_tensor * result = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, v->ne[v_trans ? 1 : 0], n_head, n_tokens, n_streams);

    const ggml_h2o_decode_params params = { GGML_H2O_OP_DECODE, v_trans, scale, cap, 0 };
    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = q;
    result->src[1] = k;
    result->src[2] = v;
    result->src[3] = mask;
    result->src[4] = sinks;

    return result;
}

static bool ggml_h2o_are_signs_of(const ggml_tensor * signs, const ggml_tensor * k, const ggml_tensor * range) {
    return
        signs->type == GGML_TYPE_I8 && ggml_is_contiguous(signs) && k->ne[0] <= GGML_H2O_SIGNS_MAX_D &&
        signs->ne[0] == (int64_t) ggml_h2o_signs_size(k->ne[0]) && signs->ne[2] == k->ne[2] &&
        range->type == GGML_TYPE_I32 && ggml_is_contiguous(range) && ggml_nelements(range) == 2;
}

ggml_tensor * ggml_h2o_signs(ggml_context * ctx, ggml_tensor * k, ggml_tensor * signs, ggml_tensor * range) {
    GGML_ASSERT(k->nb[0] == ggml_type_size(k->type) && k->ne[3] == 1 && ggml_h2o_are_signs_of(signs, k, range));

    ggml_tensor * result = ggml_view_tensor(ctx, signs);

    const int32_t op = GGML_H2O_OP_SIGNS;
    ggml_set_op_params(result, &op, sizeof(op));

    result->op     = GGML_OP_H2O;
    result->src[0] = k;
    result->src[1] = range;
    result->src[2] = signs;

    return result;
}

void ggml_h2o_decode_add_signs(ggml_tensor * decode, ggml_tensor * signs, ggml_tensor * range, int32_t n_heavy) {
    GGML_ASSERT(decode->op == GGML_OP_H2O && ggml_h2o_get_op(decode) == GGML_H2O_OP_DECODE && n_heavy > 0);
    GGML_ASSERT(decode->ne[2] <= GGML_H2O_DECODE_SPARSE_MAX);
    GGML_ASSERT(decode->ne[3] == 1 && ggml_h2o_are_signs_of(signs, decode->src[1], range));

    ((ggml_h2o_decode_params *) decode->op_params)->n_heavy = n_heavy;

    decode->src[5] = signs;
    decode->src[6] = range;
}

void ggml_h2o_mark_linear(ggml_tensor * mul_mat) {
    GGML_ASSERT(mul_mat->op == GGML_OP_MUL_MAT || mul_mat->op == GGML_OP_MUL_MAT_ID);

    mul_mat->op_params[GGML_MAX_OP_PARAMS/sizeof(int32_t) - 1] = GGML_OP_H2O;
}
