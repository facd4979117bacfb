// What became of a llama_decode call.

#pragma once

#include "runtime/failure.h"

#include <cstdint>
#include <exception>
#include <string>

namespace addon {

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
