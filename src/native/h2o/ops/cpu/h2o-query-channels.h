// The channels by which 8-bit products compare keys: half of those of a large head, and 48 at least where the processor has
// instructions for such products. What tells the keys of a page apart lies in few channels, where both queries and keys are
// large.

#pragma once

#include "h2o-query-op.h"

#ifdef H2O_HAS_INT8_SEARCH

// The op.n_channels channels with the largest product of two sums of squares, into w.channels, ascending: of the chunk's
// queries for a KV head, and of its candidates less their pages' means. Both are of a sample. Rows that hold what is no
// number do not count; ties go to the lower channel.
void h2o_choose_channels(const h2o_query_op & op, const h2o_query_work & w, int64_t ih_kv);

// These channels of x [d] less a mean, which may be null, into out [n_channels]; the 16 values behind may change. Returns 0, or
// NaN if some value of x is no number
float h2o_take_channels(const h2o_query_op & op, const h2o_query_work & w, const float * x, const float * mean, float * out);

// The page whose mean stands for what the keys of `page` share, or -1: for those behind the last whole page it is the
// last. A mean that is no number says nothing of the other keys.
int64_t h2o_page_of_mean(const h2o_query_op & op, int64_t ih_kv, int64_t page);

#endif
