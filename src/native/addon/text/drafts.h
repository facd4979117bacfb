// Drafts of an answer: what followed the last tokens where they stood before, by llama.cpp's ngram-simple.
//
// A call of 16 rows takes 1.5 to 4 times as long as one of a single row, and 1.1 to 1.4 times as long as one of eight. So a draft
// has 15 tokens; while all are right the next one has 31, then 63. Refused drafts use up credit, which tokens give back: of
// a text that never repeats what it began, about a tenth of the time is lost.

#pragma once

#include "llama.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace addon {

class drafts {
public:
    // what stands before the answer
    explicit drafts(std::vector<llama_token> history) : history(std::move(history)) {}

    // what may follow `token`, which is read next: 15, 31 or 63 tokens, at most n_max, or none
    std::vector<llama_token> propose(llama_token token, size_t n_max);

    // of the last proposal the first n_accepted tokens were right
    void judge(const std::vector<llama_token> & draft, size_t n_accepted);

    // what the sampler threw behind accepted tokens: the call that comes to where they end throws it
    std::exception_ptr failed;

private:
    std::vector<llama_token> history;

    // tokens of a draft
    static constexpr size_t n_least = 15;
    static constexpr size_t n_most  = 63;

    size_t n_next = n_least;
    double credit = 8.0; // in tokens
};

} // namespace addon
