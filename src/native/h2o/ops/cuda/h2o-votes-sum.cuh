// Where the second visit is split over the rows: the partial votes, added in the order of the splits.

#pragma once

#include "h2o-attn-args.cuh"

// grid: votes / threads
static __global__ void h2o_votes_sum(const float * split, float * votes, int n_votes, int n_split) {
    const int i = blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= n_votes) {
        return;
    }

    float sum = 0.0f;
    for (int is = 0; is < n_split; ++is) {
        sum += split[(int64_t) is*n_votes + i];
    }
    votes[i] = sum;
}
