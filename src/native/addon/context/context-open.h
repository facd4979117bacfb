// Making a llama_context: parameters, the checks that llama.cpp leaves to an assertion or to the operating system, and
// what the context turned out to be.

#pragma once

#include "context-state.h"
#include "rope.h"
#include "runtime/job.h"

#include <string>
#include <vector>

namespace addon {

struct context_options {
    uint32_t    n_ctx           = 0;
    uint32_t    n_batch         = 2048;
    uint32_t    n_ubatch        = 512;
    uint32_t    n_seq           = 1; // sequences of n_ctx tokens each
    bool        kv_unified      = false; // they share n_ctx tokens
    int32_t     n_threads       = 1;
    int32_t     n_threads_batch = 1;
    std::string flash_attn      = "auto";
    std::string type_k          = "f16";
    std::string type_v          = "f16";
    bool        swa_full        = false;
    rope_options rope;
    h2o_params  h2o             = h2o_default_params();
    bool        embeddings      = false;
    bool        kv_offload      = true;
    double      memory_limit    = 0.0; // bytes of host memory, 0 = unknown
    bool        on_gpu          = false;
};

context_options context_options_from_js(const Napi::Object & object);

class context_open_job : public job {
public:
    context_open_job(Napi::Env env, context_options options, std::shared_ptr<context_state> state);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    void check_model() const;
    void check_cache_types(ggml_type type_k, ggml_type type_v) const;
    void check_memory(const llama_context_params & params) const;
    void check_windows() const;

    context_options                options;
    std::shared_ptr<context_state> state;
    h2o_info                       info{};
    h2o_cost                       cost{};
    std::vector<h2o_layer_type>    layers;
};

} // namespace addon
