// One sequence goes on as another.

#pragma once

#include "context-state.h"
#include "runtime/job.h"

namespace addon {

// `to`, whatever it held, holds what `from` does: in a shared cache the same cells, else a copy of them. Resolves with
// the position afterwards
class copy_job : public job {
public:
    copy_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id from, llama_seq_id to);

protected:
    bool        computes() const override { return true; }
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state> state;
    llama_seq_id                   from;
    llama_seq_id                   to;
    int32_t                        position = 0;
};

} // namespace addon
