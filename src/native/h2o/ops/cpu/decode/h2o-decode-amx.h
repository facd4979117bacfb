// Many rows of a KV head in AMX tiles (h2o-amx.h); else as h2o-decode-many.h.

#pragma once

#include "h2o-decode-op.h"

bool h2o_decode_amx_supported(const h2o_decode_op & op);

int64_t h2o_decode_amx_work_size(const h2o_decode_op & op);

void h2o_decode_amx(const h2o_decode_op & op, float * work, int64_t ih, int64_t range, h2o_decode_state state);
