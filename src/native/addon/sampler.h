// Picks the next token from logits with llama.cpp's sampler chain: top-k, top-p, min-p, temperature, seeded draw; or the
// largest logit when the temperature is 0.
//
// Logits of a broken model may hold NaN or infinities, which the chain's sorting does not survive: only finite logits
// become candidates. +inf beats everything finite; with no candidate at all the token is 0.

#pragma once

#include "llama.h"

#include <memory>
#include <vector>

namespace addon {

struct sampler_options {
    float    temperature = 0.8f;
    int32_t  top_k       = 40;
    float    top_p       = 0.95f;
    float    min_p       = 0.05f;
    uint32_t seed        = 0;
    bool     ignore_eos  = false; // never pick an end-of-generation token
};

class sampler {
public:
    sampler(const llama_vocab * vocab, sampler_options options);

    llama_token sample(const float * logits);

private:
    using chain_ptr = std::unique_ptr<llama_sampler, void (*)(llama_sampler *)>;

    int32_t                       n_vocab;
    std::vector<bool>             is_banned; // empty if nothing is
    chain_ptr                     chain;
    std::vector<llama_token_data> candidates;
};

} // namespace addon
