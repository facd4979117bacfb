// The threads that a context computes with, made once: ggml would make and end them for every graph, and asserts where
// the system gives none. (With OpenMP, they are libgomp's, and this only remembers their number.)

#pragma once

#include "llama.h"

namespace addon {

class compute_threads {
public:
    compute_threads() = default;
    ~compute_threads() { stop(); }

    compute_threads(const compute_threads &) = delete;
    compute_threads & operator=(const compute_threads &) = delete;

    // n threads, the caller's among them; throws ERR_H2O_THREAD_LIMIT. Once
    void start(int n);

    // the context computes with them from now on; it must be freed before stop()
    void attach(llama_context * ctx) const;

    void stop();

private:
    ggml_threadpool * pool = nullptr;
};

} // namespace addon
