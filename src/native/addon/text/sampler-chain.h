// llama.cpp's samplers in the order that its common_sampler_init gives them.

#pragma once

#include "sampler-options.h"

#include "llama.h"

#include <memory>

namespace addon {

struct sampler_deleter {
    void operator()(llama_sampler * smpl) const { llama_sampler_free(smpl); }
};
using sampler_ptr = std::unique_ptr<llama_sampler, sampler_deleter>;

// logit bias, end-of-generation tokens if they are to be ignored, and the tokens that the model never wants; null if
// none
sampler_ptr sampler_bias_init(const llama_vocab * vocab, const sampler_options & options);

// everything after it; the last one of the chain selects. Throws failure where the model has no words for DRY
sampler_ptr sampler_chain_init(const llama_vocab * vocab, const sampler_options & options);

} // namespace addon
