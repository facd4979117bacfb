// Keys as a search reads them, and the logits of those that a block searches one by one.

#pragma once

#include "h2o-query-op.h"

// The keys of pages [begin, end) of a KV head into those that its searches share. By 8 bits each thread chooses the same
// channels for itself, into w.channels. w.scaled is working memory.
void h2o_round_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t begin, int64_t end);

// The logits of the keys of w.pages for w.scaled, the block's queries: w.logits [n_searched][H2O_PANEL]. By 8 bits w.means
// holds those of the pages' means. The largest of each page are w.most, which is added to the sums.
void h2o_score_searched(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, h2o_column_sums & sums);
