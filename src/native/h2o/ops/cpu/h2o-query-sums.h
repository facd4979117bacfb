// What a query gives all keys together, by an estimate that needs no search: from what it sees, from the keys of the first page,
// where attention sinks are, and from the mean keys of the other pages (README.md, "Sets").

#pragma once

#include "h2o-query-op.h"

// One of the rows that sums are made of: a key of the first page, or behind all of these a mean key. w.scaled is working memory.
// What is infinite becomes NaN where op.tiles.
void h2o_keep_sum_row(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t i);

// Logits of these rows for the queries w.scaled into w.sums, w.queries is working memory; then the log of the sum of each into
// sums [H2O_PANEL]: near [H2O_PANEL] is the log-sum-exp of what it sees
void h2o_estimate_sums(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, const float * near, float * sums);
