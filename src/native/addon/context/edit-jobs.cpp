#include "edit-jobs.h"

namespace addon {

void edit_job::run() {
    edit();
    position = state->position(seq_id);
}

Napi::Value edit_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

void forget_job::edit() {
    const bool is_suffix = to < 0 || to >= state->position(seq_id);

    if (from <= 0 && is_suffix) {
        state->clear(seq_id);
    } else if (from < state->earliest(seq_id) && (is_suffix || state->is_recurrent())) {
        throw state->gone(seq_id, from, state->position(seq_id));
    } else if (!llama_memory_seq_rm(state->memory, seq_id, from, to)) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "this model's memory cannot forget a part of what it read",
            {{"from", (double) from}, {"to", (double) to}, {"position", (double) state->position(seq_id)}});
    }
}

void fork_job::edit() {
    if (n < state->position(source) && n < state->earliest(source)) {
        throw state->gone(source, n, state->position(seq_id));
    }
    state->clear(seq_id);

    if (n > 0) {
        llama_memory_seq_cp(state->memory, source, seq_id, 0, n);
    }
}

} // namespace addon
