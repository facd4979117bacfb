// The two caches of a model with sliding windows: H2O serves the layers without one, which see all positions.

#pragma once

#include "h2o-memory.h"

#include "llama-kv-cache-iswa.h"

inline const llama_kv_cache & h2o_attn_cache(const llama_kv_cache_iswa & memory) {
    return *memory.get_base();
}

class llama_kv_cache_iswa_h2o : public h2o_memory<llama_kv_cache_iswa> {
public:
    template <class... Args>
    llama_kv_cache_iswa_h2o(const llama_cparams & cparams, const llama_model & model, Args &&... args) :
        h2o_memory(cparams, model, std::forward<Args>(args)...), n_swa(llama_model_n_swa(&model)) {}

    llama_memory_context_ptr new_reserve_context(const h2o_plan & plan) override;

    bool keeps_graphs() const override { return true; }

    // Where both share cells, the source loses the cells that no window reaches from p1 on: find_slot gives none with two names
    // to another token
    void seq_cp(llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) override;

protected:
    llama_memory_context_ptr init_sparse(llama_batch_allocr & balloc, std::vector<h2o_step> steps) override;

private:
    const llama_pos n_swa; // positions that a window holds
};

// Every graph stores K and V of new tokens: two-pass is refused, since its second phase would need windows that the
// first has overwritten.
class llama_kv_cache_iswa_h2o_context : public llama_kv_cache_iswa_context, public h2o_sparse_context {
public:
    // a sparse call
    llama_kv_cache_iswa_h2o_context(
            llama_kv_cache_iswa_h2o       * kv,
            std::vector<h2o_step>           steps,
            llama_kv_cache::slot_info_vec_t sinfos_base,
            llama_kv_cache::slot_info_vec_t sinfos_swa,
            std::vector<llama_ubatch>       ubatches);

    // a reservation
    llama_kv_cache_iswa_h2o_context(llama_kv_cache_iswa_h2o * kv, const h2o_plan & plan);

    const llama_kv_cache_context & get_attn() const override { return *get_base(); }

    bool next()  override;
    bool apply() override;
};
