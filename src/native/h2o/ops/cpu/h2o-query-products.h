// Logits of rows that all searches of a KV head read, landmarks and means of pages, for the queries of a block: in F32, or
// in AMX's tiles from rows that were split before.

#pragma once

#include "h2o-query-op.h"

struct h2o_query_rows {
    const float * data; // [n_all][d], as h2o_keep_row left them where op.tiles
    int64_t       n_all;
};

// x [d] as row i of n_all, for products in tiles. What is infinite becomes NaN there
void h2o_keep_row(const h2o_query_op & op, const float * x, int64_t i, float * data, int64_t n_all);

// logits [n][n_cols] of the first n rows for the queries w.scaled [n_cols][d]; out has room for op.n_rows(n) of them.
// n_cols: a multiple of 16, of 32 where op.tiles. w.queries is working memory.
void h2o_multiply_rows(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_rows & rows, int64_t n, int64_t n_cols, float * out);
