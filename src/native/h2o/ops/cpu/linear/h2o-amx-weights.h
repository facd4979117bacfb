// Weights as ggml packs them for AMX (ggml-cpu/amx/mmq.cpp, pack_B), unpacked to tiles of BF16.

#pragma once

#include "../h2o-amx.h"

#include "ggml.h"

#ifdef H2O_HAS_AMX

// whether w lies in that layout
bool h2o_amx_packed(const ggml_tensor * w);

// whether w lies in memory as it does in a file; ggml's buffer for AMX holds what it does not pack like that
bool h2o_amx_plain(const ggml_tensor * w);

// 16 rows of weights from row n on, values [k, k + n_k), both multiples of 32
//   dst  [n_k/32] tiles
void h2o_amx_unpack(const ggml_tensor * w, int64_t n, int64_t k, int64_t n_k, uint16_t * dst);

#endif
