#include "forget-job.h"

namespace addon {

forget_job::forget_job(
        Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, int32_t from, int32_t to) :
    job(env, seq_id), state(std::move(state)), seq_id(seq_id), from(from), to(to) {}

void forget_job::run() {
    const bool is_suffix = to < 0 || to >= state->position(seq_id);

    if (from <= 0 && is_suffix) {
        state->clear(seq_id);
    } else if (from < state->earliest(seq_id) && (is_suffix || state->is_recurrent())) {
        throw state->gone(seq_id, from);
    } else if (!llama_memory_seq_rm(state->memory, seq_id, from, to)) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "this model's memory cannot forget a part of what it read",
            {{"from", (double) from}, {"to", (double) to}, {"position", (double) state->position(seq_id)}});
    }
    position = state->position(seq_id);
}

Napi::Value forget_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

} // namespace addon
