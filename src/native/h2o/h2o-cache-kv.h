// The adapter of the plain KV cache: llama_kv_cache, unchanged, that carries H2O.
//
//   llama_kv_cache   K and V of all positions; nothing is ever evicted
//   h2o_cache        what H2O keeps beside them
//
// init_batch decides, once per llama_decode call, whether the call is sparse. A sparse call gets a
// llama_kv_cache_h2o_context, which hands out one ubatch per graph. llama_context reports the outcome with commit, or
// removes what the call had stored.

#pragma once

#include "h2o-cache.h"

#include "llama-kv-cache.h"

class llama_kv_cache_h2o : public llama_kv_cache, public h2o_cache {
public:
    llama_kv_cache_h2o(
            const llama_model   & model,
            const llama_hparams & hparams,
            const llama_cparams & cparams,
                      ggml_type   type_k,
                      ggml_type   type_v);

    llama_memory_context_ptr new_reserve_context(const h2o_plan & plan) override;

    //
    // llama_memory_i
    //

    llama_memory_context_ptr init_batch(
            llama_batch_allocr & balloc,
            uint32_t n_ubatch,
            bool embd_all) override;

    void clear(bool data) override;

    bool seq_rm  (llama_seq_id seq_id, llama_pos p0, llama_pos p1) override;
    void seq_cp  (llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) override;
    void seq_keep(llama_seq_id seq_id) override;
    void seq_add (llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos shift) override;
    void seq_div (llama_seq_id seq_id, llama_pos p0, llama_pos p1, int d) override;

    std::map<ggml_backend_buffer_type_t, size_t> memory_breakdown() const override;

    void state_write(llama_io_write_i & io, llama_seq_id seq_id = -1, llama_state_seq_flags flags = 0) const override;
    void state_read (llama_io_read_i  & io, llama_seq_id seq_id = -1, llama_state_seq_flags flags = 0) override;
};

// The graphs of phase 2 see tokens again and store no K and V.
class llama_kv_cache_h2o_context : public llama_kv_cache_context, public h2o_sparse_context {
public:
    // a sparse call
    llama_kv_cache_h2o_context(
            llama_kv_cache_h2o            * kv,
            std::vector<h2o_plan>           plans,
            llama_kv_cache::slot_info_vec_t sinfos,
            std::vector<llama_ubatch>       ubatches);

    // a reservation
    llama_kv_cache_h2o_context(llama_kv_cache_h2o * kv, const h2o_plan & plan);

    const llama_kv_cache_context & get_attn() const override { return *this; }

    bool next()  override;
    bool apply() override;

    const llama_ubatch & get_ubatch() const override { return get_plan_ubatch(); }
};
