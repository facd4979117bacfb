#include "copy-job.h"

namespace addon {

copy_job::copy_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id from, llama_seq_id to) :
    job(env, to), state(std::move(state)), from(from), to(to) {}

void copy_job::run() {
    state->clear(to);
    llama_memory_seq_cp(state->memory, from, to, -1, -1);
    position = state->position(to);
}

Napi::Value copy_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

} // namespace addon
