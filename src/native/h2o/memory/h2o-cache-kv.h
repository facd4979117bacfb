// The plain KV cache that carries H2O.

#pragma once

#include "h2o-memory.h"

inline const llama_kv_cache & h2o_attn_cache(const llama_kv_cache & memory) {
    return memory;
}

class llama_kv_cache_h2o : public h2o_memory<llama_kv_cache> {
public:
    using h2o_memory::h2o_memory;

    llama_memory_context_ptr new_reserve_context(const h2o_plan & plan) override;

protected:
    llama_memory_context_ptr init_sparse(llama_batch_allocr & balloc, std::vector<h2o_step> steps) override;
};

// The graphs of phase 2 see tokens again and store no K and V.
class llama_kv_cache_h2o_context : public llama_kv_cache_context, public h2o_sparse_context {
public:
    // a sparse call
    llama_kv_cache_h2o_context(
            llama_kv_cache_h2o            * kv,
            std::vector<h2o_step>           steps,
            llama_kv_cache::slot_info_vec_t sinfos,
            std::vector<llama_ubatch>       ubatches);

    // a reservation
    llama_kv_cache_h2o_context(llama_kv_cache_h2o * kv, const h2o_plan & plan);

    const llama_kv_cache_context & get_attn() const override { return *this; }

    bool next()  override;
    bool apply() override;

    const llama_ubatch & get_ubatch() const override { return get_step_ubatch(); }
};
