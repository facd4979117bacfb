#include "h2o-cache-iswa.h"

llama_memory_context_ptr llama_kv_cache_iswa_h2o::new_reserve_context(const h2o_plan & plan) {
    return std::make_unique<llama_kv_cache_iswa_h2o_context>(this, plan);
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
