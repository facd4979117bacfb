// The part of a set that the needy queries of a block choose, of the landmarks.

#pragma once

#include "h2o-query-op.h"

// The landmarks of panels [begin, end), H2O_PANEL each, of a KV head into those that its searches share: columns of a
// product. w.scaled is working memory. What is infinite becomes NaN where op.tiles.
void h2o_pack_landmarks(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih_kv, int64_t begin, int64_t end);

// The landmarks that needy queries want most, ascending, as the first op.n_by_need of a set: those of H2O_NEEDY_BLOCKS
// blocks of a head, from `first` on.
void h2o_choose_by_need(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, int64_t ih, int64_t first);
