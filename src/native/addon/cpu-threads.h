// The threads that a context computes with on the CPU. They live as long as the context: without them ggml starts new ones
// for every graph, which a small model notices at every token.

#pragma once

#include "llama.h"

namespace addon {

class cpu_threads {
public:
    cpu_threads() = default;
    ~cpu_threads();

    cpu_threads(const cpu_threads &) = delete;
    cpu_threads & operator=(const cpu_threads &) = delete;

    // starts them for a context that has not computed yet; the context must be freed before they end
    void start(llama_context * ctx);

private:
    ggml_threadpool_t pool = nullptr;
    void (*free_pool)(ggml_threadpool_t) = nullptr;
};

} // namespace addon
