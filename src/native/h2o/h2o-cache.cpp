#include "h2o-cache.h"

#include "h2o-call.h"
#include "h2o-debug.h"
#include "h2o-device.h"
#include "h2o-exact.h"
#include "h2o-policies.h"
#include "h2o-two-pass.h"

#include "llama-cparams.h"
#include "llama-impl.h"
#include "llama-kv-cache.h"
#include "llama-model.h"

#include <algorithm>

// the index of sparse decoding
static std::vector<h2o_tensor_spec> h2o_signs_tensors(
        const llama_model & model, const llama_cparams & cparams, const h2o_layer_shape & shape, uint32_t il) {
    const bool is_wanted = cparams.h2o.n_decode > 0 && !cparams.h2o.upstream_products;

    if (!is_wanted || !h2o_is_exact_layer(model, cparams, il) || shape.d_k > GGML_H2O_SIGNS_MAX_D) {
        return {};
    }
    const int64_t n_pages = std::max<int64_t>(1, shape.n_cells/GGML_H2O_PAGE);

    return { { "signs", GGML_TYPE_I8, { (int64_t) ggml_h2o_signs_size(shape.d_k), n_pages, shape.n_head_kv } } };
}

static std::vector<h2o_store_layer> h2o_store_layers(
        const llama_model    & model,
        const llama_cparams  & cparams,
        const llama_kv_cache & attn,
        const h2o_policy     & policy) {
    const llama_hparams & hparams = model.hparams;

    std::vector<h2o_store_layer> res;

    for (const uint32_t il : attn.get_layer_ids()) {
        if (hparams.n_head_kv(il) == 0) {
            continue; // a layer without attention
        }
        const h2o_layer_shape shape = {
            hparams.n_head(il), hparams.n_head_kv(il), hparams.n_embd_head_k(il), hparams.n_embd_head_v(il),
            attn.type_k(), attn.type_v(), cparams.n_ctx_seq,
        };

        ggml_backend_dev_t dev = cparams.offload_kqv ? model.dev_layer(il) : nullptr;

        const auto buft_of = [](ggml_backend_dev_t dev) {
            return dev ? ggml_backend_dev_buffer_type(dev) : ggml_backend_cpu_buffer_type();
        };

        res.push_back({
            (int32_t) il,
            buft_of(dev),
            buft_of(policy.runs_index_on(dev, shape) ? dev : nullptr),
            policy.tensors(shape),
            {},
            policy.index(shape),
            h2o_signs_tensors(model, cparams, shape, il),
        });
        if (cparams.h2o.schedule == H2O_SCHEDULE_TWO_PASS) {
            res.back().working = h2o_two_pass_tensors(shape, cparams.n_batch, cparams.n_ubatch);
        }
    }
    return res;
}

h2o_cache::h2o_cache(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn) :
    cparams(cparams), is_fused(h2o_has_fused_attn(model, cparams, attn)),
    has_exact(h2o_has_exact(model, cparams, attn)),
    n_graph_chunks(h2o_n_graph_chunks(model, cparams)),
    policy(h2o_make_policy(cparams.h2o, cparams.n_ubatch)),
    store(h2o_store_layers(model, cparams, attn, *policy), model.hparams.no_alloc),
    state(*policy), n_decode(store.has_signs() ? cparams.h2o.n_decode : 0) {
    trace.level = cparams.h2o.trace;
}

//
// one decode call
//

h2o_plan h2o_cache::new_plan(uint32_t n_tokens, llama_pos pos) const {
    h2o_plan plan;
    plan.n_tokens = n_tokens;
    plan.pos      = pos;
    plan.n_chunk  = cparams.n_ubatch;
    plan.n_local  = cparams.h2o.n_local;
    plan.n_heavy  = cparams.h2o.n_heavy;
    plan.trace    = trace.level;

    plan.heavy_grows   = cparams.h2o.heavy_grows;
    plan.is_local_near = policy->traits.has_local_near;
    return plan;
}

h2o_reason h2o_cache::get_decode_reason() const {
    return
        refused != H2O_REASON_NONE       ? refused :
        store.has_signs()                ? H2O_REASON_NONE :
        cparams.h2o.n_decode == 0        ? H2O_REASON_OFF :
        cparams.h2o.upstream_products    ? H2O_REASON_UNSUPPORTED_CONTEXT :
        has_exact                        ? H2O_REASON_UNSUPPORTED_ATTENTION : H2O_REASON_UNSUPPORTED_DEVICE; // huge heads, or a GPU
}

h2o_call h2o_cache::dense_call(int32_t n_tokens, llama_pos pos, h2o_reason reason, h2o_reason decode_reason) const {
    const bool is_ours   = has_exact && refused == H2O_REASON_NONE && n_tokens <= GGML_H2O_DECODE_MAX;
    const bool is_sparse = decode_reason == H2O_REASON_NONE;

    return { n_tokens, pos, H2O_PATH_DENSE, reason, 0, 0, is_ours && !is_sparse, is_sparse ? (int32_t) n_decode : 0, decode_reason };
}

std::array<int32_t, 2> h2o_cache::signs_range() const {
    return { state.n_signed/GGML_H2O_PAGE, call.pos/GGML_H2O_PAGE };
}

void h2o_cache::dense_graph_done() {
    if (call.n_decode > 0) {
        state.n_signed = std::max(state.n_signed, signs_range()[1]*GGML_H2O_PAGE);
    }
}

std::vector<h2o_plan> h2o_cache::begin_call(
        const llama_batch & batch, uint32_t n_tokens, bool embd_all, const llama_kv_cells & cells) {
    const h2o_reason reason =
        refused != H2O_REASON_NONE ? refused : h2o_refuse_batch(batch, n_tokens, embd_all, cparams, cells);

    const h2o_reason decode_reason = get_decode_reason() != H2O_REASON_NONE ? get_decode_reason() :
        h2o_refuse_decode(batch, n_tokens, embd_all, n_decode, cparams, cells);

    call = dense_call(n_tokens, batch.pos[0], reason, decode_reason);
    last = {};
    if (reason != H2O_REASON_NONE) {
        return {};
    }

    const std::vector<h2o_plan> plans = state.plan(new_plan(n_tokens, call.pos), cparams.h2o.schedule, n_graph_chunks);

    const h2o_plan & first = plans.front();

    call.path        = H2O_PATH_SPARSE;
    call.is_exact    = false;
    call.n_decode    = 0;
    call.n_chunks    = first.n_chunks();
    call.n_inherited = state.remembers() ? first.n_near(0) + first.n_mem(0) : 0;
    return plans;
}

void h2o_cache::refuse_call(h2o_reason reason) {
    call = dense_call(call.n_tokens, call.pos, reason, call.decode_reason);
}

void h2o_cache::graph_done(const h2o_plan & plan) {
    last = plan;
}

void h2o_cache::commit() {
    if (last.n_tokens > 0) {
        state.advance(last);
    }
    last = {};
}

std::vector<h2o_plan> h2o_cache::reserve_plans(uint32_t n_tokens) const {
    h2o_plan plan = new_plan(n_tokens, cparams.n_ctx_seq - n_tokens);
    plan.trace = H2O_TRACE_OFF;

    h2o_state full(*policy);
    full.carry = policy->full_carry(plan);

    const std::vector<h2o_plan> plans = full.plan(plan, cparams.h2o.schedule, n_graph_chunks);

    if (plans.size() == 1) {
        return plans;
    }
    return { plans.front(), plans.back() };
}

//
// edits of the cache
//

void h2o_cache::clear() {
    state.reset();
}

void h2o_cache::changed(const char * why) {
    if (!state.empty()) {
        LLAMA_LOG_WARN("%s: H2O memory set dropped: %s\n", __func__, why);
    }
    state.reset();
}

void h2o_cache::removed(llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos pos_max) {
    p0 = std::max(p0, 0);

    if (seq_id > 0 || p0 > pos_max || (p1 >= 0 && p1 <= p0)) {
        return; // nothing of sequence 0 was removed
    }
    if (p1 < 0 || p1 > pos_max) {
        state.truncate(p0);
    } else {
        changed("positions were removed from the middle of the sequence");
    }
}

void h2o_cache::kept(llama_seq_id seq_id) {
    if (seq_id != 0) {
        state.reset();
    }
}

void h2o_cache::write(llama_io_write_i & io, llama_seq_id seq_id) const {
    h2o_state_write(io, { *policy, cparams.h2o, cparams.n_ubatch }, store, state, seq_id <= 0 && !state.empty());
}

bool h2o_cache::read(llama_io_read_i & io, llama_seq_id seq_id, llama_pos pos_max) {
    if (seq_id <= 0) {
        state.reset();
    }
    return h2o_state_read(io, { *policy, cparams.h2o, cparams.n_ubatch }, store, state, pos_max + 1, seq_id <= 0);
}

//
// h2o_sparse_context
//

h2o_sparse_context::h2o_sparse_context(
        h2o_cache & cache, std::vector<h2o_plan> plans, std::vector<llama_ubatch> ubatches) :
    cache(cache), plans(std::move(plans)), ubatches(std::move(ubatches)), n_chunks_prev(cache.get_state().n_chunks) {
}

h2o_sparse_context::h2o_sparse_context(h2o_cache & cache, const h2o_plan & plan) :
    h2o_sparse_context(cache, std::vector<h2o_plan>{ plan }, {}) {
}

void h2o_sparse_context::begin_graph() const {
    h2o_debug_phases(get_plan(), cache.get_policy(), n_chunks_prev);
}

bool h2o_sparse_context::next_graph() {
    h2o_debug_cache(get_plan(), cache.get_store());

    return ++i_plan < plans.size();
}
