// How positions are rotated, where the caller wants it otherwise than the model says.

#pragma once

#include <napi.h>

#include <cstdint>

struct llama_context_params;
struct llama_model;

namespace addon {

// llama.cpp's own values for "as the model says"
struct rope_options {
    int32_t  scaling          = -1; // llama_rope_scaling_type
    uint32_t yarn_orig_ctx    = 0;
    float    freq_base        = 0.0f;
    float    freq_scale       = 0.0f;
    float    yarn_ext_factor  = -1.0f;
    float    yarn_attn_factor = -1.0f;
    float    yarn_beta_fast   = -1.0f;
    float    yarn_beta_slow   = -1.0f;
};

rope_options rope_options_from_js(const Napi::Object & object);

void rope_apply(const rope_options & rope, llama_context_params & params);

// of a model read with these options in so long a context: keys of one are no keys of the other
uint64_t rope_fingerprint(const rope_options & rope, const llama_model * model, uint32_t n_ctx_seq, uint64_t fingerprint);

} // namespace addon
