// The memory of a model with recurrent layers: H2O serves its attention layers.

#pragma once

#include "h2o-memory.h"
#include "h2o-recurrent.h"

#include "llama-memory-hybrid.h"

inline const llama_kv_cache & h2o_attn_cache(const llama_memory_hybrid & memory) {
    return *memory.get_mem_attn();
}

class llama_memory_hybrid_h2o : public h2o_memory<llama_memory_hybrid> {
public:
    // upstream's arguments
    llama_memory_hybrid_h2o(
            const llama_cparams   & cparams,
            const llama_model     & model,
            ggml_type               type_k,
            ggml_type               type_v,
            bool                    v_trans,
            uint32_t                kv_size,
            uint32_t                n_pad,
            uint32_t                n_swa,
            llama_swa_type          swa_type,
            ggml_type               type_r,
            ggml_type               type_s,
            uint32_t                rs_size,
            uint32_t                n_seq_max,
            uint32_t                n_rs_seq,
            bool                    offload,
            bool                    unified,
            const layer_filter_cb & filter_attn,
            const layer_filter_cb & filter_recr);

    llama_memory_context_ptr init_batch(llama_batch_allocr & balloc, uint32_t n_ubatch, bool embd_all) override;

    llama_memory_context_ptr new_reserve_context(const h2o_plan & plan) override;

    void commit() override;

    // A call of one token costs too little to keep what was before it: its sequence is removed. So are all but the longest
    // sequence of a call with several.
    void call_failed(llama_seq_id seq_id, llama_pos pos) override;

protected:
    llama_memory_context_ptr init_sparse(llama_batch_allocr & balloc, std::vector<h2o_step> steps) override;

private:
    h2o_recurrent_backup backup;
};

// Every graph moves the recurrent state on: two-pass is refused, since its second phase would do that twice.
class llama_memory_hybrid_h2o_context : public llama_memory_hybrid_context, public h2o_sparse_context {
public:
    // a sparse call
    llama_memory_hybrid_h2o_context(
            llama_memory_hybrid_h2o       * memory,
            std::vector<h2o_step>           steps,
            llama_kv_cache::slot_info_vec_t sinfos,
            std::vector<llama_ubatch>       ubatches);

    // a reservation
    llama_memory_hybrid_h2o_context(llama_memory_hybrid_h2o * memory, const h2o_plan & plan);

    const llama_kv_cache_context & get_attn() const override { return *llama_memory_hybrid_context::get_attn(); }

    bool next()  override;
    bool apply() override;
};
