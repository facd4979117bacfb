// GGML_H2O_OP_ATTN on CUDA.

#pragma once

#include "h2o-attn-args.cuh"

#include <type_traits>

bool ggml_cuda_h2o_attn_supported(int device, const ggml_tensor * dst);
void ggml_cuda_h2o_attn(ggml_backend_cuda_context & ctx, ggml_tensor * dst);

// calls f with d as a type, and says whether there are kernels for heads of that size
template <typename F>
static bool h2o_with_head_size(int64_t d, const F & f) {
    switch (d) {
        case  64: f(std::integral_constant<int,  64>()); return true;
        case  80: f(std::integral_constant<int,  80>()); return true;
        case  96: f(std::integral_constant<int,  96>()); return true;
        case 128: f(std::integral_constant<int, 128>()); return true;
        case 256: f(std::integral_constant<int, 256>()); return true;
        default:  return false;
    }
}

// the two families of kernels, each a translation unit; n_split and votes_split are theirs to fill
void h2o_launch_attn_mma  (ggml_backend_cuda_context & ctx, h2o_attn_args args, int d);
void h2o_launch_attn_plain(ggml_backend_cuda_context & ctx, h2o_attn_args args, int d);

// into how many parts the rows of the second visit are cut, so that tiles of keys alone do not leave the device half
// idle
int h2o_n_split(const h2o_attn_args & args, int device, int n_keys_of_tile, int n_rows_of_tile);
void h2o_launch_votes_sum(ggml_backend_cuda_context & ctx, const h2o_attn_args & args);
