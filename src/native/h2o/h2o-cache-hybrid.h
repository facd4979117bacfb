// The memory of a model with recurrent layers: H2O serves its attention layers.

#pragma once

#include "h2o-memory.h"

#include "llama-memory-hybrid.h"

inline const llama_kv_cache & h2o_attn_cache(const llama_memory_hybrid & memory) {
    return *memory.get_mem_attn();
}

class llama_memory_hybrid_h2o : public h2o_memory<llama_memory_hybrid> {
public:
    using h2o_memory::h2o_memory;

    llama_memory_context_ptr new_reserve_context(const h2o_plan & plan) override;

protected:
    llama_memory_context_ptr init_sparse(llama_batch_allocr & balloc, std::vector<h2o_plan> plans) override;
};

// Every graph moves the recurrent state on: two-pass is refused, since its second phase would do that twice.
class llama_memory_hybrid_h2o_context : public llama_memory_hybrid_context, public h2o_sparse_context {
public:
    // a sparse call
    llama_memory_hybrid_h2o_context(
            llama_memory_hybrid_h2o       * memory,
            std::vector<h2o_plan>           plans,
            llama_kv_cache::slot_info_vec_t sinfos,
            std::vector<llama_ubatch>       ubatches);

    // a reservation
    llama_memory_hybrid_h2o_context(llama_memory_hybrid_h2o * memory, const h2o_plan & plan);

    const llama_kv_cache_context & get_attn() const override { return *llama_memory_hybrid_context::get_attn(); }

    bool next()  override;
    bool apply() override;
};
