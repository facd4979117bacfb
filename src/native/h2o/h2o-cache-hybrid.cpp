#include "h2o-cache-hybrid.h"

llama_memory_context_ptr llama_memory_hybrid_h2o::new_reserve_context(const h2o_plan & plan) {
    return std::make_unique<llama_memory_hybrid_h2o_context>(this, plan);
}

llama_memory_context_ptr llama_memory_hybrid_h2o::init_sparse(
        llama_batch_allocr & balloc, std::vector<h2o_plan> plans) {
    std::vector<llama_ubatch> ubatches = h2o_split_batch(balloc, plans, /*equal =*/ true);

    // the recurrent part first, as upstream does
    if (!get_mem_recr()->prepare(ubatches)) {
        return std::make_unique<llama_memory_hybrid_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    auto sinfos = get_mem_attn()->prepare(ubatches);
    if (sinfos.empty()) {
        return std::make_unique<llama_memory_hybrid_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }
    if (!h2o_is_in_place(sinfos, plans)) {
        return nullptr;
    }
    return std::make_unique<llama_memory_hybrid_h2o_context>(
            this, std::move(plans), std::move(sinfos), std::move(ubatches));
}

llama_memory_hybrid_h2o_context::llama_memory_hybrid_h2o_context(
        llama_memory_hybrid_h2o       * memory,
        std::vector<h2o_plan>           plans,
        llama_kv_cache::slot_info_vec_t sinfos,
        std::vector<llama_ubatch>       ubatches) :
    llama_memory_hybrid_context(memory, std::move(sinfos), ubatches),
    h2o_sparse_context(*memory, std::move(plans), ubatches) {
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
