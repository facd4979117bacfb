// One model computed on the CPU and on a device, sparsely: do logits, votes and memory sets agree, does the device
// repeat itself, and does the graph stay on it? What both give without H2O stands beside it, so that a miss can be told
// from one of the backend's own products.

#pragma once

#include "h2o.h"
#include "llama.h"

#include <vector>

struct agreement_case {
    const char    * name;
    h2o_policy_type policy;
    ggml_type       type;     // of the cache
    bool            flash;
    h2o_schedule    schedule;
    int             n_tail;   // tokens behind the last whole chunk, at most a chunk
    // of the logits, the last ones of the prompt and those of each decoded token, and of the votes; where backends are
    // farther apart without H2O, as with weights of 8 bits, logits may be twice as far apart as there
    double max_nmse;
    double          min_same; // share of the members of the memory sets
};

// policies, cache types, layouts of V, schedules and tails, with what a device is held to
const std::vector<agreement_case> & agreement_cases();

struct agreement_setup {
    llama_model * on_cpu;
    llama_model * on_device;

    int n_chunk;  // tokens
    int n_chunks; // in calls of four: with three in the last one it is sparse with any tail
    int n_local;
    int n_heavy;
    int n_decoded; // tokens behind the prompt, one by one
};

// prints a line; -> whether everything holds
bool check_agreement(const agreement_setup & setup, const agreement_case & c);
