// Graph constructors of GGML_OP_H2O; part of the ggml-base target.

#include "ggml-h2o.h"

#include "ggml-impl.h"

static_assert(sizeof(ggml_h2o_op_params) <= GGML_MAX_OP_PARAMS, "the parameters of GGML_OP_H2O must fit op_params");

static void ggml_h2o_check_tracked(
        const ggml_tensor    * mem_pos,
        const ggml_tensor    * mem_score,
        const ggml_tensor    * chunk_score,
        const ggml_h2o_tracked tracked) {
    GGML_ASSERT(mem_pos->type == GGML_TYPE_I32 && mem_score->type == GGML_TYPE_F32 && chunk_score->type == GGML_TYPE_F32);
    GGML_ASSERT(mem_pos->nb[0] == sizeof(int32_t) && mem_score->nb[0] == sizeof(float) && chunk_score->nb[0] == sizeof(float));
    GGML_ASSERT(mem_pos->ne[0]     >= tracked.n_mem);
    GGML_ASSERT(mem_score->ne[0]   >= tracked.n_mem);
    GGML_ASSERT(chunk_score->ne[0] >= tracked.n_chunk);
    GGML_ASSERT(mem_pos->ne[1] == mem_score->ne[1] && mem_pos->ne[1] == chunk_score->ne[1]);
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
    ggml_h2o_check_tracked(mem_pos, mem_score, chunk_score, tracked);
    GGML_ASSERT(pos > 0 && n_local >= 0 && n_heavy >= 0 && n_local + n_heavy > 0);

    const int64_t n = MIN(pos, n_local + n_heavy);

    ggml_tensor * result = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n, mem_pos->ne[1]);

    const ggml_h2o_op_params params = { GGML_H2O_OP_SELECT, tracked, pos, n_local, n_heavy };
    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = mem_pos;
    result->src[1] = mem_score;
    result->src[2] = chunk_score;

    return result;
}

ggml_tensor * ggml_h2o_lookup(
        ggml_context   * ctx,
        ggml_tensor    * set,
        ggml_tensor    * mem_pos,
        ggml_tensor    * mem_score,
        ggml_tensor    * chunk_score,
        ggml_h2o_tracked tracked) {
    ggml_h2o_check_tracked(mem_pos, mem_score, chunk_score, tracked);
    GGML_ASSERT(set->type == GGML_TYPE_I32 && set->nb[0] == sizeof(int32_t) && set->ne[1] == mem_pos->ne[1]);

    ggml_tensor * result = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, set->ne[0], set->ne[1]);

    const ggml_h2o_op_params params = { GGML_H2O_OP_LOOKUP, tracked, 0, 0, 0 };
    ggml_set_op_params(result, &params, sizeof(params));

    result->op     = GGML_OP_H2O;
    result->src[0] = mem_pos;
    result->src[1] = mem_score;
    result->src[2] = chunk_score;
    result->src[3] = set;

    return result;
}
