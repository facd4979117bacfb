// Jobs on the state of a sequence as bytes; where there is one, on that of the context.

#pragma once

#include "context-state.h"
#include "runtime/job.h"

#include <cstdint>
#include <vector>

namespace addon {

// Resolves with the bytes that a save_job without a note gives. Looks at every cell, and at nothing in it
class state_size_job : public job {
public:
    state_size_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state> state;
    llama_seq_id                   seq_id;
    size_t                         size = 0;
};

// Resolves with a Buffer: a header of ours (state_header.h), the note as it was given, then llama.cpp's state
class save_job : public job {
public:
    save_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, std::vector<uint8_t> note);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state>        state;
    llama_seq_id                          seq_id;
    std::vector<uint8_t>                  note;
    std::unique_ptr<std::vector<uint8_t>> bytes;
};

// What does not belong to the context is refused before llama.cpp reads it; when llama.cpp refuses it, the sequence is
// empty. What the method remembers is taken over if its settings are the same. Resolves with { position, inherited,
// reason, note }.
//
// The bytes are checked, and then read, on another thread: `array` must be one that nobody else has
class restore_job : public job {
public:
    restore_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, const Napi::Uint8Array & array);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state>    state;
    llama_seq_id                      seq_id;
    Napi::Reference<Napi::Uint8Array> array;
    const uint8_t *                   data;
    size_t                            size;
    size_t                            n_note    = 0;
    int32_t                           position  = 0;
    bool                              inherited = false;
    const char *                      reason    = nullptr;
};

} // namespace addon
