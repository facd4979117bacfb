#include "h2o-cache-kv.h"

llama_memory_context_ptr llama_kv_cache_h2o::new_reserve_context(const h2o_plan & plan) {
    return std::make_unique<llama_kv_cache_h2o_context>(this, plan);
}

llama_memory_context_ptr llama_kv_cache_h2o::init_sparse(llama_batch_allocr & balloc, std::vector<h2o_step> steps) {
    std::vector<llama_ubatch> ubatches = h2o_split_batch(balloc, steps);
    std::vector<llama_ubatch> stores; // those whose K and V are stored

    for (size_t i = 0; i < steps.size() && steps[i].stores_kv(); ++i) {
        stores.push_back(ubatches[i]);
    }

    auto sinfos = prepare(stores);
    if (sinfos.empty()) {
        return std::make_unique<llama_kv_cache_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    if (!h2o_is_in_place(sinfos, steps)) {
        return nullptr;
    }
    return std::make_unique<llama_kv_cache_h2o_context>(this, std::move(steps), std::move(sinfos), std::move(ubatches));
}

llama_kv_cache_h2o_context::llama_kv_cache_h2o_context(
        llama_kv_cache_h2o            * kv,
        std::vector<h2o_step>           steps,
        llama_kv_cache::slot_info_vec_t sinfos,
        std::vector<llama_ubatch>       ubatches) :
    llama_kv_cache_context(kv, std::move(sinfos), ubatches),
    h2o_sparse_context(*kv, std::move(steps), ubatches) {
}

llama_kv_cache_h2o_context::llama_kv_cache_h2o_context(llama_kv_cache_h2o * kv, const h2o_plan & plan) :
    llama_kv_cache_context(kv), h2o_sparse_context(*kv, plan) {
}

bool llama_kv_cache_h2o_context::next() {
    if (!next_graph()) {
        return false;
    }
    if (get_step().stores_kv()) {
        llama_kv_cache_context::next();
    }
    return true;
}

bool llama_kv_cache_h2o_context::apply() {
    begin_graph();

    return !get_step().stores_kv() || llama_kv_cache_context::apply();
}
