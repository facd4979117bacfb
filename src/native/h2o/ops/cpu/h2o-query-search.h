// The part of a set that all queries of a block choose: pages by their mean keys, then keys of the best pages.

#pragma once

#include "h2o-query-op.h"

// The searched keys that a query of the block wants, of too many the best, into w.best: by the largest that a position is to a
// query, beside its surroundings and the best key of each page. Without those in `taken`, ascending. Returns how many these
// are; none only if some are taken.
int64_t h2o_choose_by_all(
        const h2o_query_op    & op,
        const h2o_query_keys  & keys,
        const h2o_query_work  & w,
        const h2o_query_block & b,
        const int32_t         * taken,
        int64_t                 n_taken);
