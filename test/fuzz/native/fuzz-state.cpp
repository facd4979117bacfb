// libFuzzer: mutants of a context's state, as they come behind the checksum, through llama.cpp's reader and ours; what
// was taken over is used. How to run it: docs/robustness.md

#include "test-context.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

extern "C" size_t LLVMFuzzerMutate(uint8_t * data, size_t size, size_t max_size);

static test_context & context() {
    static const tiny_model model;
    static test_context     ctx(model, [] {
        test_context_params params = test_votes(); // a policy whose state is more than K and V
        params.n_ctx   = 256;
        params.n_batch = 128;
        params.capture = false;
        return params;
    }());
    return ctx;
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    ggml_set_abort_callback([](const char * message) { throw std::runtime_error(message); }); // as addon/runtime/assertion.h has it
    return 0;
}

// the mutant of nothing is a whole state
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t * data, size_t size, size_t max_size, unsigned int) {
    static const std::vector<uint8_t> whole = [] {
        context().decode(tiny_prompt(96));
        std::vector<uint8_t> state(llama_state_get_size(context().get()));
        state.resize(llama_state_get_data(context().get(), state.data(), state.size()));
        return state;
    }();

    if (size < 16 && whole.size() <= max_size) {
        std::copy(whole.begin(), whole.end(), data);
        return whole.size();
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    uint32_t n_name = 0;
    memcpy(&n_name, data, std::min<size_t>(size, sizeof(n_name)));
    if (n_name > size) {
        return -1; // addon/context/state-header.cpp refuses it
    }

    context().clear();
    if (llama_state_set_data(context().get(), data, size) > 0 && context().n_pos() + 64 <= 256) {
        const std::vector<llama_token> tokens = tiny_prompt(64);
        llama_decode(context().get(), llama_batch_get_one(const_cast<llama_token *>(tokens.data()), 64));
    }
    return 0;
}
