// What the recurrent layers of stock llama.cpp held before a call: they cannot go back by themselves. A context that
// H2O serves needs none: its memory goes back by itself (h2o-recurrent.h).

#pragma once

#include "llama.h"

#include <cstdint>
#include <vector>

namespace addon {

class checkpoint {
public:
    // of a sequence; to the host, some megabytes
    void take(llama_context * ctx, llama_seq_id seq_id);

    // Takes the recurrent layers back to it, and lets go of it. False if there is none, or it cannot be
    bool restore(llama_context * ctx, llama_seq_id seq_id);

    void drop() { data.clear(); }

private:
    std::vector<uint8_t> data; // keeps its memory for the next call
};

} // namespace addon
