#include "h2o-cache-kv.h"

#include "h2o-call.h"

#include "llama-batch.h"
#include "llama-cparams.h"
#include "llama-model.h"

#include <stdexcept>

llama_kv_cache_h2o::llama_kv_cache_h2o(
        const llama_model   & model,
        const llama_hparams & hparams,
        const llama_cparams & cparams,
                  ggml_type   type_k,
                  ggml_type   type_v) :
    llama_kv_cache(
            model, hparams, type_k, type_v, !cparams.flash_attn, cparams.offload_kqv, cparams.kv_unified,
            cparams.n_ctx_seq, cparams.n_seq_max, 1, hparams.n_swa, hparams.swa_type, nullptr, nullptr, nullptr, nullptr),
    h2o_cache(model, cparams, get_layer_ids(), type_k, type_v) {
}

llama_memory_context_ptr llama_kv_cache_h2o::new_reserve_context(const h2o_plan & plan) {
    return std::make_unique<llama_kv_cache_h2o_context>(this, plan);
}

llama_memory_context_ptr llama_kv_cache_h2o::init_batch(llama_batch_allocr & balloc, uint32_t n_ubatch, bool embd_all) {
    std::vector<h2o_plan> plans = begin_call(balloc.get_batch(), balloc.get_n_tokens(), embd_all, get_cells(0));

    if (plans.empty()) {
        return llama_kv_cache::init_batch(balloc, n_ubatch, embd_all);
    }

    std::vector<llama_ubatch> ubatches = h2o_split_batch(balloc, plans);
    std::vector<llama_ubatch> stores; // those whose K and V are stored

    for (size_t i = 0; i < plans.size() && plans[i].stores_kv(); ++i) {
        stores.push_back(ubatches[i]);
    }

    auto sinfos = prepare(stores);
    if (sinfos.empty()) {
        return std::make_unique<llama_kv_cache_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }

    for (size_t i = 0; i < stores.size(); ++i) {
        if (!sinfos[i].is_contiguous() || sinfos[i].head() != (uint32_t) plans[i].chunk_pos(plans[i].ic_begin)) {
            refuse_call(H2O_REASON_KV_NOT_CONTIGUOUS);
            return llama_kv_cache::init_batch(balloc, n_ubatch, embd_all);
        }
    }

    return std::make_unique<llama_kv_cache_h2o_context>(this, std::move(plans), std::move(sinfos), std::move(ubatches));
}

//
// edits
//

void llama_kv_cache_h2o::clear(bool data) {
    llama_kv_cache::clear(data);
    h2o_cache::clear();
}

bool llama_kv_cache_h2o::seq_rm(llama_seq_id seq_id, llama_pos p0, llama_pos p1) {
    const llama_pos pos_max = seq_pos_max(0);

    if (!llama_kv_cache::seq_rm(seq_id, p0, p1)) {
        return false;
    }
    removed(seq_id, p0, p1, pos_max);
    return true;
}

void llama_kv_cache_h2o::seq_cp(llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) {
    llama_kv_cache::seq_cp(seq_id_src, seq_id_dst, p0, p1);
    if (seq_id_src != seq_id_dst) {
        changed("a sequence was copied");
    }
}

void llama_kv_cache_h2o::seq_keep(llama_seq_id seq_id) {
    llama_kv_cache::seq_keep(seq_id);
    kept(seq_id);
}

void llama_kv_cache_h2o::seq_add(llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos shift) {
    llama_kv_cache::seq_add(seq_id, p0, p1, shift);
    if (shift != 0) {
        changed("positions were shifted");
    }
}

void llama_kv_cache_h2o::seq_div(llama_seq_id seq_id, llama_pos p0, llama_pos p1, int d) {
    llama_kv_cache::seq_div(seq_id, p0, p1, d);
    if (d != 1) {
        changed("positions were divided");
    }
}

std::map<ggml_backend_buffer_type_t, size_t> llama_kv_cache_h2o::memory_breakdown() const {
    auto res = llama_kv_cache::memory_breakdown();
    get_store().add_to_breakdown(res);
    return res;
}

void llama_kv_cache_h2o::state_write(llama_io_write_i & io, llama_seq_id seq_id, llama_state_seq_flags flags) const {
    llama_kv_cache::state_write(io, seq_id, flags);
    write(io, seq_id);
}

void llama_kv_cache_h2o::state_read(llama_io_read_i & io, llama_seq_id seq_id, llama_state_seq_flags flags) {
    llama_kv_cache::state_read(io, seq_id, flags);

    if (!read(io, seq_id, seq_pos_max(0))) {
        clear(true); // as upstream does with a state that it cannot read to the end
        throw std::runtime_error("the H2O part of the state is damaged");
    }
}

//
// llama_kv_cache_h2o_context
//

llama_kv_cache_h2o_context::llama_kv_cache_h2o_context(
        llama_kv_cache_h2o            * kv,
        std::vector<h2o_plan>           plans,
        llama_kv_cache::slot_info_vec_t sinfos,
        std::vector<llama_ubatch>       ubatches) :
    llama_kv_cache_context(kv, std::move(sinfos), ubatches),
    h2o_sparse_context(*kv, std::move(plans), ubatches) {
}

llama_kv_cache_h2o_context::llama_kv_cache_h2o_context(llama_kv_cache_h2o * kv, const h2o_plan & plan) :
    llama_kv_cache_context(kv), h2o_sparse_context(*kv, plan) {
}

bool llama_kv_cache_h2o_context::next() {
    if (!next_graph()) {
        return false;
    }
    if (get_plan().stores_kv()) {
        llama_kv_cache_context::next();
    }
    return true;
}

bool llama_kv_cache_h2o_context::apply() {
    begin_graph();

    return !get_plan().stores_kv() || llama_kv_cache_context::apply();
}
