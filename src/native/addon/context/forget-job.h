// Forgetting a part of what a sequence has read, or all of it.

#pragma once

#include "context-state.h"
#include "runtime/job.h"

#include <cstdint>

namespace addon {

// forgets the positions from `from` up to, but without, `to`; to < 0 means all that follow, all of them means a clear.
// Resolves with the position afterwards
class forget_job : public job {
public:
    forget_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, int32_t from, int32_t to);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state> state;
    llama_seq_id                   seq_id;
    int32_t                        from;
    int32_t                        to;
    int32_t                        position = 0;
};

} // namespace addon
