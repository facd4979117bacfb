// Logits of the keys that a block searches one by one.

#pragma once

#include "h2o-query-op.h"

// log-sum-exp of a panel of columns, so far: max + log(sum)
struct h2o_panel_sums {
    float max[H2O_PANEL];
    float sum[H2O_PANEL];
};

// The logits of w.searched for w.scaled, the block's queries: w.logits [n_searched][H2O_PANEL], added to the sums
void h2o_score_searched(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, h2o_panel_sums & sums);
