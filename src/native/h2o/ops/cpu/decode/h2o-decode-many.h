// Many rows of a KV head: matrix products over tiles of its keys and values, unpacked once for all of them.

#pragma once

#include "h2o-decode-op.h"

// floats of working memory
int64_t h2o_decode_many_work_size(const h2o_decode_op & op);

// the states of the rows of one KV head over one range
void h2o_decode_many(const h2o_decode_op & op, float * work, int64_t ih, int64_t range, h2o_decode_state state);
