// The set of a block: what its queries want, of too much the best.

#pragma once

#include "h2o-query-op.h"

void h2o_choose_set(const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih, int64_t ib);
