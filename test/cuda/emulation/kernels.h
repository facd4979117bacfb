// The kernels, launched as h2o-attn-mma.cu, h2o-attn-plain.cu and h2o-select.cu launch them. One translation unit each, so
// that a changed header is one to compile.

#pragma once

#include "h2o-attn-args.cuh"
#include "h2o-select.cuh"

// d: head size; q_scaled and votes_split are theirs to fill, n_split is the caller's
void emu_attn_mma  (h2o_attn_args args, int d);
void emu_attn_plain(h2o_attn_args args, int d);

void emu_select(const h2o_select_args & args, int n_head);
void emu_lookup(const h2o_lookup_args & args, int n_head);
