// What a generation asks of its sampler: the names, meanings and defaults of llama.cpp's common_params_sampling.
//
// Checked by the TypeScript layer (src/ts/sampling.ts): every number is finite and within the bounds written there,
// which keep all logits free of NaN; names of samplers are known; tokens are in the vocabulary.

#pragma once

#include "llama.h"

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

namespace addon {

struct chat_prompt;

struct sampler_options {
    uint32_t seed = 0;

    float    temperature       = 0.8f;
    float    dynatemp_range    = 0.0f;
    float    dynatemp_exponent = 1.0f;
    int32_t  top_k             = 40;
    float    top_p             = 0.95f;
    float    min_p             = 0.05f;
    float    typical_p         = 1.0f;
    float    top_n_sigma       = -1.0f;
    float    xtc_probability   = 0.0f;
    float    xtc_threshold     = 0.1f;

    int32_t  repeat_last_n     = 64;
    float    repeat_penalty    = 1.0f;
    float    frequency_penalty = 0.0f;
    float    presence_penalty  = 0.0f;

    float    dry_multiplier     = 0.0f;
    float    dry_base           = 1.75f;
    int32_t  dry_allowed_length = 2;
    int32_t  dry_penalty_last_n = 64;
    std::vector<std::string> dry_sequence_breakers;

    float    adaptive_target = -1.0f;
    float    adaptive_decay  = 0.9f;

    int32_t  mirostat     = 0;
    float    mirostat_tau = 5.0f;
    float    mirostat_eta = 0.1f;

    std::vector<std::string> samplers; // llama.cpp's canonical names, in their order

    bool     ignore_eos = false; // never pick an end-of-generation token
    std::vector<llama_logit_bias> logit_bias;

    std::string grammar;     // GBNF with a rule "root", or empty
    std::string json_schema; // JSON, in place of a grammar, or empty
    std::shared_ptr<const chat_prompt> chat; // whose rules take the place of both; may be null

    int32_t  n_logprobs = -1; // alternatives to tell with every token; < 0: nothing is told
};

// JavaScript thread only
sampler_options sampler_options_from_js(const Napi::Object & object);

} // namespace addon
