// Jobs on what a context remembers: forgetting, and the state as bytes.

#pragma once

#include "context-state.h"
#include "job.h"

#include <cstdint>
#include <vector>

namespace addon {

// forgets the positions from `from` up to, but without, `to`; to < 0 means all that follow, all of them means a clear.
// Resolves with the position afterwards
class forget_job : public job {
public:
    forget_job(Napi::Env env, std::shared_ptr<context_state> state, int32_t from, int32_t to);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state> state;
    int32_t                        from;
    int32_t                        to;
    int32_t                        position = 0;
};

// Resolves with a Buffer: a header of ours (what it belongs to, position, checksum), then llama.cpp's state
class save_job : public job {
public:
    save_job(Napi::Env env, std::shared_ptr<context_state> state);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state>        state;
    std::unique_ptr<std::vector<uint8_t>> bytes;
};

// A state of another model, another position count or with a changed byte is refused before llama.cpp reads it; when
// llama.cpp refuses it, the context is empty. Resolves with the position afterwards
class restore_job : public job {
public:
    restore_job(Napi::Env env, std::shared_ptr<context_state> state, const Napi::Uint8Array & array);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state>    state;
    Napi::Reference<Napi::Uint8Array> array;
    const uint8_t *                   data;
    size_t                            size;
    int32_t                           position = 0;
};

} // namespace addon
