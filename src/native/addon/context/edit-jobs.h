// Jobs that edit what a sequence holds, without computing: each resolves with its position afterwards.

#pragma once

#include "context-state.h"
#include "runtime/job.h"

#include <cstdint>

namespace addon {

class edit_job : public job {
protected:
    edit_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id) :
        job(env, seq_id), state(std::move(state)), seq_id(seq_id) {}

    virtual void edit() = 0;

    const std::shared_ptr<context_state> state;
    const llama_seq_id                   seq_id;

private:
    void        run() final;
    Napi::Value result(Napi::Env env) final;

    int32_t position = 0;
};

// Forgets the positions from `from` up to, but without, `to`; to < 0 means all that follow, all of them means a clear.
class forget_job : public edit_job {
public:
    forget_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, int32_t from, int32_t to) :
        edit_job(env, std::move(state), seq_id), from(from), to(to) {}

private:
    void edit() override;

    const int32_t from;
    const int32_t to;
};

// The sequence becomes the first `n` tokens of `source`, which has as many: it goes on in the same cells, and no K and V
// are copied. Both share a cache (kv_unified).
class fork_job : public edit_job {
public:
    fork_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, llama_seq_id source, int32_t n) :
        edit_job(env, std::move(state), seq_id), source(source), n(n) {}

private:
    void edit() override;

    const llama_seq_id source;
    const int32_t      n;
};

} // namespace addon
