#include "h2o-cache-hybrid.h"

#include "llama-impl.h"

#include <algorithm>

llama_memory_hybrid_h2o::llama_memory_hybrid_h2o(
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
        const layer_filter_cb & filter_recr) :
    h2o_memory(cparams, model, type_k, type_v, v_trans, kv_size, n_pad, n_swa, swa_type, type_r, type_s,
            rs_size + h2o_recurrent_backup::n_cells, n_seq_max, n_rs_seq, offload, unified, filter_attn, filter_recr),
    backup(*get_mem_recr(), n_seq_max) {
}

// the name of the backup is no further sequence's: upstream would refuse it, too
static bool h2o_has_sequences(const llama_batch & batch, llama_seq_id n_seq_max) {
    for (int32_t i = 0; i < batch.n_tokens; ++i) {
        for (int32_t j = 0; j < batch.n_seq_id[i]; ++j) {
            if (batch.seq_id[i][j] >= n_seq_max) {
                return false;
            }
        }
    }
    return true;
}

llama_memory_context_ptr llama_memory_hybrid_h2o::init_batch(
        llama_batch_allocr & balloc, uint32_t n_ubatch, bool embd_all) {
    if (!h2o_has_sequences(balloc.get_batch(), backup.seq_backup)) {
        LLAMA_LOG_ERROR("%s: this context has %d sequences, use a bigger --parallel value\n", __func__, backup.seq_backup);
        return std::make_unique<llama_memory_hybrid_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    backup.drop();

    llama_memory_context_ptr res = h2o_memory::init_batch(balloc, n_ubatch, embd_all);

    const h2o_run & longest = *std::max_element(get_runs().begin(), get_runs().end(),
            [](const h2o_run & a, const h2o_run & b) { return a.n_tokens < b.n_tokens; });

    if (longest.n_tokens > 1 && !llama_memory_status_is_fail(res->get_status())) {
        backup.take(longest.seq_id);
    }
    return res;
}

void llama_memory_hybrid_h2o::commit() {
    backup.drop();

    h2o_memory::commit();
}

void llama_memory_hybrid_h2o::call_failed(llama_seq_id seq_id, llama_pos pos) {
    const bool is_back = backup.restore(seq_id) || pos == 0;

    if (!is_back || !seq_rm(seq_id, pos, -1)) {
        LLAMA_LOG_WARN("%s: the state of the recurrent layers is lost: sequence %d is removed\n", __func__, seq_id);
        seq_rm(seq_id, -1, -1);
    }
}

llama_memory_context_ptr llama_memory_hybrid_h2o::new_reserve_context(const h2o_plan & plan) {
    return std::make_unique<llama_memory_hybrid_h2o_context>(this, plan);
}

llama_memory_context_ptr llama_memory_hybrid_h2o::init_sparse(
        llama_batch_allocr & balloc, std::vector<h2o_step> steps) {
    std::vector<llama_ubatch> ubatches = h2o_split_batch(balloc, steps);

    // the recurrent part first, as upstream does
    if (!get_mem_recr()->prepare(ubatches)) {
        return std::make_unique<llama_memory_hybrid_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    auto sinfos = get_mem_attn()->prepare(ubatches);
    if (sinfos.empty()) {
        return std::make_unique<llama_memory_hybrid_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    if (!h2o_is_in_place(sinfos, steps)) {
        return nullptr;
    }
    return std::make_unique<llama_memory_hybrid_h2o_context>(
            this, std::move(steps), std::move(sinfos), std::move(ubatches));
}

llama_memory_hybrid_h2o_context::llama_memory_hybrid_h2o_context(
        llama_memory_hybrid_h2o       * memory,
        std::vector<h2o_step>           steps,
        llama_kv_cache::slot_info_vec_t sinfos,
        std::vector<llama_ubatch>       ubatches) :
    llama_memory_hybrid_context(memory, std::move(sinfos), ubatches),
    h2o_sparse_context(*memory, std::move(steps), ubatches) {
}

llama_memory_hybrid_h2o_context::llama_memory_hybrid_h2o_context(
        llama_memory_hybrid_h2o * memory, const h2o_plan & plan) :
    llama_memory_hybrid_context(memory), h2o_sparse_context(*memory, plan) {
}

bool llama_memory_hybrid_h2o_context::next() {
    next_graph();

    return llama_memory_hybrid_context::next();
}

bool llama_memory_hybrid_h2o_context::apply() {
    begin_graph();

    return llama_memory_hybrid_context::apply();
}
