// Variants of how heavy hitters are voted for and kept, see h2o_experiments in h2o.h and docs/experiments.md. All of them
// are off by default, and then nothing here adds a node to a graph. Where each one takes effect:
//
//   n_sink, vote_mean         SELECT, as parameters of the op
//   decay                     on the scores of the memory, before a chunk's votes are added
//   vote_causal               on the initial scores of a chunk
//   vote_window, vote_fused   on the rows of the weights: the votes are then summed here and not by the fused kernel

#pragma once

#include "h2o.h"

#include <cstdint>
#include <string>
#include <vector>

struct ggml_context;
struct ggml_tensor;

bool operator==(const h2o_experiments & a, const h2o_experiments & b);

bool h2o_is_default(const h2o_experiments & e);

// what is wrong with the values, or null
const char * h2o_experiments_error(const h2o_experiments & e, h2o_schedule schedule);

// votes that only a graph of stock ops can take
bool h2o_needs_composed(const h2o_experiments & e);

// tells the scores of one variant from those of another in a saved state; 0 if all are off
uint32_t h2o_fingerprint(const h2o_experiments & e);

// "sink = 4, decay = 0.9"
std::string h2o_experiments_text(const h2o_experiments & e);

// vote_causal: the factors of the initial scores of a chunk of n_queries tokens
std::vector<float> h2o_causal_factors(const h2o_experiments & e, int64_t n_queries);

// column sums of w [n_keys, rows, n_head_kv, n_chunks] over the rows that vote, each times its row of weight [1, rows, ...]
ggml_tensor * h2o_build_votes(ggml_context * ctx, const h2o_experiments & e, int64_t n_group, ggml_tensor * w, ggml_tensor * weight);
