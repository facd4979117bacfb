// A sequence that goes on behind what another one has read, in the cells of that one: no K and V are copied.

#pragma once

#include "context-state.h"
#include "runtime/job.h"

#include <cstdint>

namespace addon {

// `seq_id` becomes the first `n` tokens of `seq_id_src`, which has as many. Both share a cache (kv_unified). Resolves with the
// position of seq_id
class fork_job : public job {
public:
    fork_job(Napi::Env env, std::shared_ptr<context_state> state, llama_seq_id seq_id, llama_seq_id seq_id_src, int32_t n);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    std::shared_ptr<context_state> state;
    llama_seq_id                   seq_id;
    llama_seq_id                   seq_id_src;
    int32_t                        n;
    int32_t                        position = 0;
};

} // namespace addon
