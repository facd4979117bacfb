// Few rows of every KV head: K and V are read cell by cell, all heads of a cell, as they lie in memory.

#pragma once

#include "h2o-decode-op.h"

// floats of working memory
int64_t h2o_decode_few_work_size(const h2o_decode_op & op);

// the states of all rows of all KV heads over one range
void h2o_decode_few(const h2o_decode_op & op, float * work, int64_t range, h2o_decode_state state);
