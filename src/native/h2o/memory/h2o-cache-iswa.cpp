#include "h2o-cache-iswa.h"

#include <algorithm>

llama_memory_context_ptr llama_kv_cache_iswa_h2o::new_reserve_context(const h2o_plan & plan) {
    return std::make_unique<llama_kv_cache_iswa_h2o_context>(this, plan);
}

void llama_kv_cache_iswa_h2o::seq_cp(
        llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) {
    llama_kv_cache & swa = *get_swa();

    const llama_pos end   = swa.seq_pos_max(seq_id_src) + 1;
    const llama_pos first = (p1 < 0 ? end : std::min(p1, end)) - n_swa + 1;

    if (swa.get_n_stream() == 1 && seq_id_src != seq_id_dst && first > 0 && swa.get_size() < get_base()->get_size()) {
        swa.seq_rm(seq_id_src, 0, first);
    }
    h2o_memory::seq_cp(seq_id_src, seq_id_dst, p0, p1);
}

llama_memory_context_ptr llama_kv_cache_iswa_h2o::init_sparse(
        llama_batch_allocr & balloc, std::vector<h2o_step> steps) {
    std::vector<llama_ubatch> ubatches = h2o_split_batch(balloc, steps);

    auto sinfos_base = get_base()->prepare(ubatches);
    auto sinfos_swa  = get_swa ()->prepare(ubatches);

    if (sinfos_base.empty() || sinfos_swa.empty()) {
        return std::make_unique<llama_kv_cache_iswa_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    if (!h2o_is_in_place(sinfos_base, steps)) {
        return nullptr;
    }
    return std::make_unique<llama_kv_cache_iswa_h2o_context>(
            this, std::move(steps), std::move(sinfos_base), std::move(sinfos_swa), std::move(ubatches));
}

llama_kv_cache_iswa_h2o_context::llama_kv_cache_iswa_h2o_context(
        llama_kv_cache_iswa_h2o       * kv,
        std::vector<h2o_step>           steps,
        llama_kv_cache::slot_info_vec_t sinfos_base,
        llama_kv_cache::slot_info_vec_t sinfos_swa,
        std::vector<llama_ubatch>       ubatches) :
    llama_kv_cache_iswa_context(kv, std::move(sinfos_base), std::move(sinfos_swa), ubatches),
    h2o_sparse_context(*kv, std::move(steps), ubatches) {
}

llama_kv_cache_iswa_h2o_context::llama_kv_cache_iswa_h2o_context(
        llama_kv_cache_iswa_h2o * kv, const h2o_plan & plan) :
    llama_kv_cache_iswa_context(kv), h2o_sparse_context(*kv, plan) {
}

bool llama_kv_cache_iswa_h2o_context::next() {
    next_graph();

    return llama_kv_cache_iswa_context::next();
}

bool llama_kv_cache_iswa_h2o_context::apply() {
    begin_graph();

    return llama_kv_cache_iswa_context::apply();
}
