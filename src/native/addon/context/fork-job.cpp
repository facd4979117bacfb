#include "fork-job.h"

namespace addon {

fork_job::fork_job(
        Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, llama_seq_id seq_id_src, int32_t n) :
    job(env, seq_id), state(std::move(state)), seq_id(seq_id), seq_id_src(seq_id_src), n(n) {}

void fork_job::run() {
    state->clear(seq_id);

    const int32_t end = state->position(seq_id_src);

    if (n < end && n < state->earliest(seq_id_src)) {
        throw state->gone(seq_id_src, n);
    }
    if (n > 0) {
        llama_memory_seq_cp(state->memory, seq_id_src, seq_id, 0, n);
    }
    position = state->position(seq_id);
}

Napi::Value fork_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

} // namespace addon
