// Keys as a search reads them.

#pragma once

#include "h2o-query-op.h"

// The keys of pages [begin, end) of a KV head into those that its searches share. By 8 bits each thread chooses the same
// channels for itself, into w.channels. w.scaled and w.part are working memory.
void h2o_round_keys(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t begin, int64_t end);
