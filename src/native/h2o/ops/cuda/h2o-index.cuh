// The kernel of GGML_H2O_OP_PAGES.

#pragma once

#include "h2o-kv-read.cuh"

#include "../ggml-h2o.h"

struct h2o_pages_args {
    h2o_kv k;
    int    d;

    float * pages;        // [d, .., n_head]
    int64_t pages_stride; // from head to head, in elements

    int begin; // of the pages that are made
    int end;
};

#define H2O_PAGES_OF_BLOCK 4 // a warp each

// grid: (pages / H2O_PAGES_OF_BLOCK, KV heads); block: (WARP_SIZE, H2O_PAGES_OF_BLOCK)
static __global__ void __launch_bounds__(WARP_SIZE*H2O_PAGES_OF_BLOCK) h2o_pages(const h2o_pages_args args) {
    const int page = args.begin + blockIdx.x*H2O_PAGES_OF_BLOCK + threadIdx.y;

    if (page >= args.end) {
        return;
    }

    const h2o_kv_head k(args.k, blockIdx.y, 0, nullptr);

    float * out = args.pages + blockIdx.y*args.pages_stride + (int64_t) page*args.d;

    // a lane has eight channels at a time
    for (int channel = threadIdx.x*8; channel < args.d; channel += WARP_SIZE*8) {
        float mean[8] = {};

#pragma unroll 4
        for (int key = 0; key < GGML_H2O_PAGE; ++key) {
            float x[8];
            h2o_read_8(args.k, k, page*GGML_H2O_PAGE + key, channel, x);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                mean[j] += x[j];
            }
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            mean[j] *= 1.0f/GGML_H2O_PAGE;
            out[channel + j] = mean[j];
        }
    }
}
