#include "forget-job.h"

namespace addon {

forget_job::forget_job(Napi::Env env, std::shared_ptr<context_state> state, int32_t from, int32_t to) :
    job(env), state(std::move(state)), from(from), to(to) {}

void forget_job::run() {
    const bool is_suffix = to < 0 || to >= state->position();

    if (from <= 0 && is_suffix) {
        llama_memory_clear(state->memory, false);
    } else if (from < state->earliest() && (is_suffix || state->is_recurrent())) {
        throw failure("ERR_H2O_POSITION_GONE",
            state->is_recurrent() ? "the recurrent layers of this model cannot forget a part of what they read"
                                  : "the sliding windows of this model no longer reach that far back",
            {{"from", (double) from}, {"earliest", (double) state->earliest()}, {"position", (double) state->position()}});
    } else if (!llama_memory_seq_rm(state->memory, 0, from, to)) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "this model's memory cannot forget a part of what it read",
            {{"from", (double) from}, {"to", (double) to}, {"position", (double) state->position()}});
    }
    position = state->position();
}

Napi::Value forget_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

} // namespace addon
