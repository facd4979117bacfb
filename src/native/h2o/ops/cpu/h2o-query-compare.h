// Keys against queries, a page at a time: which ones are wanted, and the logits of those where too many are.

#pragma once

#include "h2o-query-op.h"

// queries of a block as keys are compared with them
struct h2o_compared {
    float   bars   [H2O_PANEL]; // the logit from which on a query wants a key
    float   scales [H2O_PANEL]; // by 8 bits: NaN for one that is no number
    float   inverse[H2O_PANEL]; // one over the scale
    int32_t begin  [H2O_PANEL]; // where the sums of products begin, for the offset of the keys
};

// w.scaled into w.queries, and what is left of `out` beside the bars; w.part is working memory
void h2o_pack_compared(const h2o_query_op & op, const h2o_query_work & w, h2o_compared & out);

// keys of pages [0, n_all_pages) that some query wants: w.wanted. Returns how many. By 8 bits w.sums holds the logits of mean keys
int64_t h2o_compare_keys(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries);

// logits of a page's keys for the packed queries, into w.logits
void h2o_score_page(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_compared & queries, int64_t page);
