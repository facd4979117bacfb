// Kernels of GGML_H2O_OP_PAGES and GGML_H2O_OP_LANDMARKS.

#pragma once

#include "h2o-kv-read.cuh"
#include "h2o-lanes.cuh"
#include "h2o-top.cuh"

#include "../ggml-h2o.h"

struct h2o_index_args {
    h2o_kv k;
    int    d;

    float * pages;        // [d, .., n_head]
    int64_t pages_stride; // from head to head, in elements

    int32_t * landmarks; // [.., n_head]; null for PAGES
    int64_t   landmarks_stride;

    int begin; // of the entries that are made
    int end;
};

#define H2O_PAGES_OF_BLOCK 4 // a warp each

// grid: (pages / H2O_PAGES_OF_BLOCK, KV heads); block: (WARP_SIZE, H2O_PAGES_OF_BLOCK)
static __global__ void __launch_bounds__(WARP_SIZE*H2O_PAGES_OF_BLOCK) h2o_pages(const h2o_index_args args) {
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

// grid: (spans, KV heads); block: a thread per key; shared memory: the mean key, d floats
static __global__ void __launch_bounds__(GGML_H2O_SPAN) h2o_landmarks(const h2o_index_args args) {
    extern __shared__ uint4 h2o_smem[];
    __shared__ uint32_t keys[GGML_H2O_SPAN]; // orders like the cosine; NaN is the most alike

    const int tid   = threadIdx.x;
    const int lane  = tid%16;
    const int span  = args.begin + blockIdx.x;
    const int cell0 = span*GGML_H2O_SPAN;

    const h2o_kv_head k(args.k, blockIdx.y, 0, nullptr);

    // its length does not matter: it is the same for all of them
    float * mean = (float *) h2o_smem;

    const float * pages = args.pages + blockIdx.y*args.pages_stride + (int64_t) span*(GGML_H2O_SPAN/GGML_H2O_PAGE)*args.d;
    for (int i = tid; i < args.d; i += GGML_H2O_SPAN) {
        float sum = 0.0f;
        for (int j = 0; j < GGML_H2O_SPAN/GGML_H2O_PAGE; ++j) {
            sum += pages[(int64_t) j*args.d + i];
        }
        mean[i] = sum;
    }
    __syncthreads();

    for (int key = tid/16; key < GGML_H2O_SPAN; key += GGML_H2O_SPAN/16) {
        float dot    = 0.0f;
        float square = 0.0f;

        for (int channel = lane*8; channel < args.d; channel += 16*8) {
            float x[8];
            h2o_read_8(args.k, k, cell0 + key, channel, x);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                dot    += x[j]*mean[channel + j];
                square += x[j]*x[j];
            }
        }
        dot    = h2o_lanes_sum<16>(dot);
        square = h2o_lanes_sum<16>(square);

        const float cosine = dot/sqrtf(square);
        if (lane == 0) {
            keys[key] = h2o_order_key(cosine == cosine ? cosine : INFINITY);
        }
    }
    __syncthreads();

    // the lowest, ties to the lower position
    const auto is_before = [&](int i, int j) {
        return keys[i] < keys[j] || (keys[i] == keys[j] && i < j);
    };
    int rank = 0;
    for (int i = 0; i < GGML_H2O_SPAN; ++i) {
        rank += is_before(i, tid);
    }

    __shared__ bool is_landmark[GGML_H2O_SPAN];
    is_landmark[tid] = rank < GGML_H2O_LANDMARKS;
    __syncthreads();

    if (is_landmark[tid]) {
        int place = 0;
        for (int i = 0; i < tid; ++i) {
            place += is_landmark[i];
        }
        args.landmarks[blockIdx.y*args.landmarks_stride + span*GGML_H2O_LANDMARKS + place] = cell0 + tid;
    }
}
