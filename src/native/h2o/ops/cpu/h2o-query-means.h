// Logits of the pages' mean keys for the queries of a block: in F32, or in AMX's tiles from rows that were split before.

#pragma once

#include "h2o-query-op.h"

// the mean of page i of a KV head, for products in tiles. What is infinite becomes NaN there
void h2o_keep_mean(const h2o_query_op & op, const h2o_query_keys & keys, int64_t ih_kv, int64_t i);

// logits of all pages' means for the queries w.scaled, into w.means; w.queries is working memory
void h2o_multiply_means(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv);
