// A llama_decode call of some tokens, and what became of it.

#pragma once

#include "runtime/failure.h"

#include "llama.h"

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace addon {

// Tokens of the sequences that seq_id points to, in one call; positions follow those of the sequences. output: which of
// them have logits
inline int decode_tokens(
        llama_context * ctx, std::vector<llama_token> & tokens, std::vector<llama_seq_id *> & seq_id, std::vector<int8_t> & output) {
    std::vector<int32_t> n_seq_id(tokens.size(), 1);

    llama_batch batch = llama_batch_get_one(tokens.data(), (int32_t) tokens.size());
    batch.n_seq_id = n_seq_id.data();
    batch.seq_id   = seq_id.data();
    batch.logits   = output.data();

    const int status = llama_decode(ctx, batch);
    llama_synchronize(ctx);

    return status;
}

struct decode_outcome {
    int         status  = 0;
    bool        is_torn = false; // it threw, and may have left anything behind
    std::string message = "llama_decode failed";

    // position: of the sequence, once the call is rolled back
    failure as_failure(size_t n_tokens, int32_t position) const {
        return failure("ERR_H2O_DECODE_FAILED", message,
            {{"status", (double) status}, {"nTokens", (double) n_tokens}, {"position", (double) position}});
    }
};

// decode: () -> the status
template <typename F>
decode_outcome outcome_of(F decode) {
    try {
        return { decode() };
    } catch (const std::exception & err) {
        return { -3, true, err.what() };
    }
}

} // namespace addon
