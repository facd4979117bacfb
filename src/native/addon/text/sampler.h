// Picks the next token from logits, as llama.cpp's common_sampler does: bias, the chain of samplers, and where its
// token does not fit the grammar the same once more with what fits.
//
// Logits of a broken model may hold NaN or infinities, which the chain's sorting does not survive: only finite logits
// become candidates. +inf beats everything finite; with no logit at all that is a number the token is 0.

#pragma once

#include "grammar.h"
#include "sampler-chain.h"

#include "limit-work.h"
#include "llama.h"

#include <memory>
#include <utility>
#include <vector>

namespace addon {

// What a grammar may take until it can be followed, and then for every token: ten seconds or so, and less than 2 GB. An
// honest one takes a hundredth, with a large vocabulary a tenth.
constexpr uint64_t n_sampler_work = 10ull * 1000 * 1000 * 1000;

struct drawn_token {
    llama_token token = LLAMA_TOKEN_NULL; // or this: the grammar is at its end, and what would say so is not wanted

    // of the model's own distribution, before anything above; alternatives: the likeliest first
    float logprob = 0.0f;
    std::vector<std::pair<llama_token, float>> alternatives;
};

class sampler {
public:
    // `past`: the tokens that penalties know of, oldest first. Throws failure, and what limit_work_poll throws
    sampler(const llama_vocab * vocab, const sampler_options & options, const std::vector<llama_token> & past);

    // throws failure, ERR_H2O_SAMPLING, where no token may follow; limit_work_aborted soon after `is_aborted` is set
    drawn_token draw(const float * logits, const std::atomic<bool> & is_aborted);

    int32_t n_logprobs() const { return n_alternatives; }

private:
    bool        fill(const float * logits, llama_sampler * bias);
    llama_token choose();
    llama_token choose_fitting(const float * logits);
    llama_token choose_resampling(const float * logits);
    void        tell_logprobs(const float * logits, drawn_token & drawn);

    int32_t                       n_vocab;
    int32_t                       n_alternatives;
    sampler_ptr                   bias;
    sampler_ptr                   chain;
    std::unique_ptr<grammar>      rules; // may be null
    std::vector<llama_token_data> candidates;
};

} // namespace addon
