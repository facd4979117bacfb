#include "state-jobs.h"

#include "state-header.h"
#include "runtime/values.h"

#include <algorithm>
#include <cstring>

namespace addon {

// of llama.cpp's part
static size_t size_of(const context_state & state, llama_seq_id seq_id) {
    const size_t size = llama_state_seq_get_size_ext(state.ctx, seq_id, H2O_STATE_SEQ_FLAGS_WHOLE);
    if (size == 0) {
        throw failure("ERR_H2O_STATE_INVALID", "llama.cpp cannot save the state");
    }
    return size;
}

state_size_job::state_size_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id) :
    job(env, seq_id), state(std::move(state)), seq_id(seq_id) {}

void state_size_job::run() {
    size = sizeof(state_header) + size_of(*state, seq_id);
}

Napi::Value state_size_job::result(Napi::Env env) {
    return Napi::Number::New(env, (double) size);
}

save_job::save_job(
        Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, std::vector<uint8_t> note) :
    job(env, seq_id), state(std::move(state)), seq_id(seq_id), note(std::move(note)) {}

void save_job::run() {
    const size_t size = size_of(*state, seq_id);

    bytes = std::make_unique<std::vector<uint8_t>>(sizeof(state_header) + note.size() + size);
    uint8_t * data = bytes->data() + sizeof(state_header);

    std::copy(note.begin(), note.end(), data);

    const size_t n_written =
        llama_state_seq_get_data_ext(state->ctx, data + note.size(), size, seq_id, H2O_STATE_SEQ_FLAGS_WHOLE);
    if (n_written == 0) {
        throw failure("ERR_H2O_STATE_INVALID", "llama.cpp cannot save the state");
    }
    bytes->resize(sizeof(state_header) + note.size() + n_written);

    const state_header header = state_header_of(*state, seq_id, data, note.size() + n_written, note.size());
    memcpy(bytes->data(), &header, sizeof(header));
}

Napi::Value save_job::result(Napi::Env env) {
    std::vector<uint8_t> * owned = bytes.release();

    return Napi::Buffer<uint8_t>::NewOrCopy(env, owned->data(), owned->size(),
        [](Napi::Env, uint8_t *, std::vector<uint8_t> * v) { delete v; }, owned);
}

restore_job::restore_job(
        Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, const Napi::Uint8Array & array) :
    job(env, seq_id), state(std::move(state)), seq_id(seq_id), array(Napi::Reference<Napi::Uint8Array>::New(array, 1)),
    data(array.Data()), size(array.ElementLength()) {}

void restore_job::run() {
    const state_header saved = state_header_read(*state, data, size);

    n_note = saved.n_note;

    state->clear(seq_id); // llama.cpp leaves it as it is if the state has no cells
    const size_t n_read =
        llama_state_seq_set_data(state->ctx, data + sizeof(saved) + n_note, saved.size - n_note, seq_id);

    if (n_read == 0 || state->position(seq_id) != saved.position) {
        state->clear(seq_id);
        throw failure("ERR_H2O_STATE_INVALID", "the state was saved with other settings of the context",
            {{"position", 0.0}});
    }
    position = saved.position;

    const char * difference = state_header_difference(*state, saved);
    if (difference) {
        h2o_reset_memory(state->ctx, seq_id);
    }
    inherited = h2o_has_memory(state->ctx, seq_id);
    reason    = inherited ? nullptr : !saved.has_memory ? "none" : difference ? difference : "other";
}

Napi::Value restore_job::result(Napi::Env env) {
    Napi::Object object = Napi::Object::New(env);

    object.Set("position",  Napi::Number::New(env, position));
    object.Set("inherited", Napi::Boolean::New(env, inherited));
    object.Set("note",      make_array<Napi::Uint8Array>(env, array.Value().Data() + sizeof(state_header), n_note));
    object.Set("reason",    reason ? Napi::Value(Napi::String::New(env, reason)) : env.Null());

    return object;
}

} // namespace addon
