// GGML_H2O_OP_ATTN on CUDA.

#pragma once

#include "h2o-attn-args.cuh"

bool ggml_cuda_h2o_attn_supported(int device, const ggml_tensor * dst);
void ggml_cuda_h2o_attn(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

// the two families of kernels, each a translation unit; n_split and votes_split are theirs to fill
void h2o_launch_attn_mma  (ggml_backend_cuda_context & ctx, h2o_attn_args args, int d);
void h2o_launch_attn_plain(ggml_backend_cuda_context & ctx, h2o_attn_args args, int d);

// into how many parts the rows of the second visit are cut, so that tiles of keys alone do not leave the device half idle
int h2o_n_split(const h2o_attn_args & args, int device, int n_keys_of_tile, int n_rows_of_tile);
void h2o_launch_votes_sum(ggml_backend_cuda_context & ctx, const h2o_attn_args & args);
