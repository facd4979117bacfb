#include "drafts.h"

#include <ngram-map.h>

#include <algorithm>

namespace addon {

// as many have to stand before a draft: with fewer more drafts are refused, with more they come later
static constexpr uint16_t n_match = 6;

// what a draft costs, what a token gives back, and how much is kept for harder times
static constexpr double draft_cost   = 4.0;
static constexpr double token_credit = 0.1;
static constexpr double credit_max   = 24.0;

std::vector<llama_token> drafts::propose(llama_token token, size_t n_max) {
    std::vector<llama_token> draft;

    credit = std::min(credit + token_credit, credit_max);
    if (!failed && credit >= draft_cost && n_max >= n_least) {
        const uint16_t n = (uint16_t) std::min(n_next, n_max);
        draft = common_ngram_simple_draft({ n_match, n }, history, token);
    }
    history.push_back(token);

    // 16, 32 or 64 rows
    for (size_t n = n_most; n >= n_least; n /= 2) {
        if (draft.size() >= n) {
            draft.resize(n);
            return draft;
        }
    }
    return {};
}

void drafts::judge(const std::vector<llama_token> & draft, size_t n_accepted) {
    history.insert(history.end(), draft.begin(), draft.begin() + n_accepted);

    credit += (double) n_accepted - draft_cost;
    n_next  = n_accepted == draft.size() ? std::min(2*n_next + 1, n_most) : n_least;
}

} // namespace addon
