// Quantised weights unpacked to tiles of BF16: those that ggml packs for AMX (ggml-cpu/amx/mmq.cpp, pack_B), and those that
// lie as in a file or are repacked for other kernels.

#pragma once

#include "h2o-linear-op.h"

#include "../h2o-amx.h"

#ifdef H2O_HAS_AMX

// whether w lies in that layout
bool h2o_amx_packed(const ggml_tensor * w);

// whether w lies in memory as it does in a file; ggml's buffer for AMX holds what it does not pack like that
bool h2o_amx_plain(const ggml_tensor * w);

// whether it is repacked for other kernels, in sixteens of rows; it cannot be read row by row
bool h2o_amx_repacked(const ggml_tensor * w);

// 16 rows of weights from row n on, values [k, k + n_k), both multiples of 32
//   dst  [n_k/32] tiles
void h2o_amx_unpack(const ggml_tensor * w, int64_t n, int64_t k, int64_t n_k, uint16_t * dst);

// the same of weights that the kernel for 8 bits can unpack, all 16 rows of them; false for other types
bool h2o_amx_unpack_int8(const h2o_linear_op & op, int64_t n, int64_t k, int64_t n_k, uint16_t * dst);

#endif
