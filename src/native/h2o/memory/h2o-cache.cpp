#include "h2o-cache.h"

#include "h2o-debug.h"
#include "h2o-device.h"
#include "h2o-policies.h"
#include "h2o-two-pass.h"

#include "llama-cparams.h"
#include "llama-impl.h"
#include "llama-kv-cache.h"
#include "llama-model.h"

#include <algorithm>
#include <numeric>

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

static std::vector<h2o_state> h2o_states(const h2o_policy & policy, uint32_t n_stream) {
    std::vector<h2o_state> res;
    for (uint32_t s = 0; s < n_stream; ++s) {
        res.emplace_back(policy, s, s);
    }
    return res;
}

static h2o_engine h2o_make_engine(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn) {
    std::unique_ptr<h2o_policy> policy = h2o_make_policy(cparams.h2o, cparams.n_ubatch);

    const std::vector<h2o_store_layer> layers = h2o_store_layers(model, cparams, attn, *policy);
    return {
        std::move(policy),
        h2o_store(layers, attn.get_n_stream(), model.hparams.no_alloc),
        h2o_has_fused_attn(model, cparams, attn) ? h2o_fused_block() : h2o_composed_block(),
        {},
    };
}

h2o_cache::h2o_cache(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn) :
    engine(h2o_make_engine(model, cparams, attn)),
    cparams(cparams), attn(attn),
    has_exact(h2o_has_exact(model, cparams, attn)),
    n_graph_chunks(h2o_n_graph_chunks(model, cparams)),
    states(h2o_states(*engine.policy, attn.get_n_stream())),
    expected(states.size() > 1 ? states.size() : LLAMA_MAX_SEQ, 0), // as upstream's cache counts its sequences
    n_decode(engine.store.has_signs() ? cparams.h2o.n_decode : 0), last(states.size()) {
    engine.trace.level = cparams.h2o.trace;
}

h2o_engine & h2o_sparse_context::get_engine() const {
    return cache.engine;
}

uint32_t h2o_sparse_context::get_n_kv() const {
    return get_attn().get_n_kv();
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
    plan.trace    = engine.trace.level;

    plan.heavy_grows   = cparams.h2o.heavy_grows;
    plan.is_local_near = engine.policy->traits.has_local_near;
    return plan;
}

h2o_reason h2o_cache::get_decode_reason() const {
    return
        refused != H2O_REASON_NONE    ? refused :
        engine.store.has_signs()      ? H2O_REASON_NONE :
        cparams.h2o.n_decode == 0     ? H2O_REASON_OFF :
        cparams.h2o.upstream_products ? H2O_REASON_UNSUPPORTED_CONTEXT :
        has_exact                     ? H2O_REASON_UNSUPPORTED_ATTENTION : H2O_REASON_UNSUPPORTED_DEVICE; // huge heads, or a GPU
}

void h2o_cache::expect(llama_seq_id seq_id, uint32_t n_tokens) {
    expected.at(seq_id) = n_tokens <= cparams.n_ubatch ? 0 : attn.seq_pos_max(seq_id) + 1 + n_tokens;
}

uint32_t h2o_cache::decode_keys() const {
    const h2o_run & run = runs.front();

    return h2o_decode_among(n_decode, cparams.h2o.n_group, h2o_decode_candidates((int64_t) run.pos + run.n_tokens));
}

h2o_call h2o_cache::dense_call(h2o_reason decode_reason) const {
    const h2o_run & longest = *std::max_element(runs.begin(), runs.end(),
            [](const h2o_run & a, const h2o_run & b) { return a.n_tokens < b.n_tokens; });

    const int32_t n_tokens = std::accumulate(runs.begin(), runs.end(), 0,
            [](int32_t n, const h2o_run & run) { return n + (int32_t) run.n_tokens; });

    const bool is_ours   = has_exact && refused == H2O_REASON_NONE && n_tokens <= GGML_H2O_DECODE_MAX;
    const bool is_sparse = decode_reason == H2O_REASON_NONE;

    h2o_call res = {};
    res.n_tokens      = n_tokens;
    res.pos           = runs.front().pos;
    res.path          = H2O_PATH_DENSE;
    res.reason        = longest.reason;
    res.is_exact      = is_ours && !is_sparse;
    res.n_decode      = is_sparse ? decode_keys() : 0;
    res.decode_reason = decode_reason;
    return res;
}

int32_t h2o_cache::signs_stream() const {
    return stream_of(runs.front().seq_id);
}

std::array<int32_t, 2> h2o_cache::signs_range() const {
    return { states[signs_stream()].n_signed/GGML_H2O_PAGE, call.pos/GGML_H2O_PAGE };
}

void h2o_cache::dense_graph_done() {
    if (call.n_decode > 0) {
        int32_t & n_signed = states[signs_stream()].n_signed;

        n_signed = std::max(n_signed, signs_range()[1]*GGML_H2O_PAGE);
    }
}

h2o_state & h2o_cache::take_state(const h2o_run & run) {
    h2o_state & state = states[stream_of(run.seq_id)];

    if (state.seq_id != run.seq_id) {
        state.truncate(run.pos); // the run's sequence has the same cells below, and nothing is known of others
        state.seq_id = run.seq_id;
    }
    return state;
}

void h2o_cache::refuse_runs() {
    std::vector<bool> is_taken(states.size());

    for (h2o_run & run : runs) {
        const auto refuse = [&](h2o_reason reason) {
            if (run.reason == H2O_REASON_NONE) {
                run.reason = reason;
            }
        };
        const int32_t stream      = stream_of(run.seq_id);
        const bool    is_expected = run.pos + (llama_pos) run.n_tokens <= expected[run.seq_id];

        if (refused != H2O_REASON_NONE) {
            run.reason = refused;
        }
        refuse(h2o_refuse_length(run, is_expected, cparams));

        if (run.reason == H2O_REASON_NONE) {
            refuse(h2o_refuse_cells(run, attn.get_cells(run.seq_id)));
        }
        if (is_taken[stream]) {
            refuse(H2O_REASON_KV_NOT_CONTIGUOUS); // the cells behind are those of a sequence before it
        }
        if (cparams.h2o.schedule == H2O_SCHEDULE_TWO_PASS && runs.size() > 1) {
            refuse(H2O_REASON_MULTI_SEQUENCE); // its phases take the whole batch
        }
        is_taken[stream] = is_taken[stream] || run.reason == H2O_REASON_NONE;
    }
}

std::vector<h2o_step> h2o_cache::begin_call(const llama_batch & batch, uint32_t n_tokens, bool embd_all) {
    runs = h2o_find_runs(batch, n_tokens, embd_all, cparams);
    last.assign(states.size(), {});

    const h2o_reason decode_reason = get_decode_reason() != H2O_REASON_NONE ? get_decode_reason() :
        h2o_refuse_decode(runs, decode_keys(), attn.get_cells(runs.front().seq_id));

    refuse_runs();

    call = dense_call(decode_reason);

    const auto is_sparse = [](const h2o_run & run) { return run.reason == H2O_REASON_NONE; };

    const auto first = std::find_if(runs.begin(), runs.end(), is_sparse);
    if (first == runs.end()) {
        if (call.n_decode > 0) {
            take_state(runs.front());
        }
        return {};
    }

    std::vector<h2o_step> steps;

    for (const h2o_run & run : runs) {
        if (!is_sparse(run)) {
            for (uint32_t i = 0; i < run.n_tokens; i += cparams.n_ubatch) {
                const uint32_t n = std::min(cparams.n_ubatch, run.n_tokens - i);

                steps.push_back({ n, std::nullopt, has_exact && n <= GGML_H2O_DECODE_MAX });
            }
            continue;
        }
        const h2o_state & state = take_state(run);

        for (const h2o_plan & plan : state.plan(new_plan(run.n_tokens, run.pos), cparams.h2o.schedule, n_graph_chunks)) {
            steps.push_back({ (uint32_t) plan.n_graph_tokens(), plan, false });

            if (&run == &*first && plan.is_first() && plan.stores_kv()) {
                call.n_chunks    = plan.n_chunks();
                call.n_inherited = state.remembers() ? plan.n_near(0) + plan.n_mem(0) : 0;
            }
        }
        call.n_sparse += run.n_tokens;
    }

    engine.trace.clear();

    call.pos      = first->pos;
    call.path     = H2O_PATH_SPARSE;
    call.reason   = H2O_REASON_NONE;
    call.is_exact = false;
    call.n_decode = 0;
    return steps;
}

void h2o_cache::refuse_call(h2o_reason reason) {
    for (h2o_run & run : runs) {
        if (run.reason == H2O_REASON_NONE) {
            run.reason = reason;
        }
    }
    call = dense_call(call.decode_reason);
}

void h2o_cache::graph_done(const h2o_plan & plan) {
    last[plan.stream] = plan;
}

void h2o_cache::commit() {
    for (h2o_state & state : states) {
        if (last[state.stream].n_tokens > 0) {
            state.advance(last[state.stream]);
        }
    }
    last.assign(states.size(), {});
}

std::vector<h2o_plan> h2o_cache::reserve_plans(uint32_t n_tokens) const {
    h2o_plan plan = new_plan(n_tokens, cparams.n_ctx_seq - n_tokens);
    plan.trace = H2O_TRACE_OFF;

    h2o_state full(*engine.policy);
    full.carry = engine.policy->full_carry(plan);

    const std::vector<h2o_plan> plans = full.plan(plan, cparams.h2o.schedule, n_graph_chunks);

    if (plans.size() == 1) {
        return plans;
    }
    return { plans.front(), plans.back() };
}

//
// edits of the cache
//

void h2o_cache::reset_states(llama_seq_id seq_id) {
    for (h2o_state & state : states) {
        if (seq_id < 0 || state.seq_id == seq_id) {
            state.reset();
        }
    }
}

h2o_state h2o_cache::get_state(llama_seq_id seq_id) const {
    const h2o_state & state = states[stream_of(seq_id)];

    return state.seq_id == seq_id ? state : state.of(seq_id);
}

std::vector<llama_pos> h2o_cache::ends() const {
    std::vector<llama_pos> res;
    for (size_t s = 0; s < expected.size(); ++s) {
        res.push_back(attn.seq_pos_max(s) + 1);
    }
    return res;
}

void h2o_cache::clear() {
    reset_states(-1);
    std::fill(expected.begin(), expected.end(), 0);
}

static void h2o_drop(h2o_state & state, const char * why) {
    if (!state.empty()) {
        LLAMA_LOG_WARN("%s: H2O memory set dropped: %s\n", __func__, why);
    }
    state.reset();
}

void h2o_cache::changed(llama_seq_id seq_id, const char * why) {
    h2o_drop(states[stream_of(seq_id)], why);
    expected[seq_id] = 0;
}

void h2o_cache::removed(llama_seq_id seq_id, llama_pos p0, llama_pos p1, const std::vector<llama_pos> & ends) {
    p0 = std::max(p0, 0);

    for (h2o_state & state : states) {
        const llama_pos end = ends[state.seq_id];

        if ((seq_id >= 0 && seq_id != state.seq_id) || p0 >= end || (p1 >= 0 && p1 <= p0)) {
            continue; // nothing that the state speaks of
        }
        if (p1 < 0 || p1 >= end) {
            state.truncate(p0);
        } else {
            h2o_drop(state, "positions were removed from the middle of the sequence");
        }
    }
    for (size_t s = 0; s < expected.size(); ++s) {
        // what is left is not the prompt that was expected
        expected[s] = (seq_id < 0 || (size_t) seq_id == s) && p0 < ends[s] ? 0 : expected[s];
    }
}

void h2o_cache::copied(llama_seq_id seq_id_src, llama_seq_id seq_id_dst) {
    h2o_state & src = states[stream_of(seq_id_src)];
    h2o_state & dst = states[stream_of(seq_id_dst)];

    expected[seq_id_dst] = 0;

    if (src.stream != dst.stream) {
        // the copy has other cells; an index of their keys is made again
        dst.reset();
        if (engine.store.copy_kept(src.stream, src.copy, dst.stream, dst.copy)) {
            dst.carry.tracked = src.carry.tracked;
            dst.n_chunks      = src.n_chunks;
        } else if (!src.empty()) {
            LLAMA_LOG_WARN("%s: the copy of a sequence starts without its H2O memory set\n", __func__);
        }
    } else if (dst.seq_id == seq_id_dst) {
        h2o_drop(dst, "another sequence was copied to it");
    }
}

void h2o_cache::kept(llama_seq_id seq_id) {
    // upstream leaves other streams as they are
    h2o_state & state = states[stream_of(seq_id)];

    if (state.seq_id != seq_id) {
        state.reset();
    }
    for (size_t s = 0; s < expected.size(); ++s) {
        if ((llama_seq_id) s != seq_id && stream_of(s) == state.stream) {
            expected[s] = 0;
        }
    }
}

void h2o_cache::write(llama_io_write_i & io, llama_seq_id seq_id) const {
    const h2o_state_owner owner = { *engine.policy, cparams.h2o, cparams.n_ubatch };

    for (const h2o_state & state : states) {
        if (seq_id < 0 || stream_of(seq_id) == state.stream) {
            // where all sequences share a stream, a state of all of them goes on with sequence 0
            const llama_seq_id own = seq_id < 0 ? state.stream : seq_id;

            h2o_state_write(io, owner, engine.store, state, state.seq_id == own && !state.empty());
        }
    }
}

bool h2o_cache::read(llama_io_read_i & io, llama_seq_id seq_id) {
    const h2o_state_owner owner = { *engine.policy, cparams.h2o, cparams.n_ubatch };

    bool is_valid = true;

    for (h2o_state & state : states) {
        if (is_valid && (seq_id < 0 || stream_of(seq_id) == state.stream)) {
            state = state.of(seq_id < 0 ? state.stream : seq_id);

            expected[state.seq_id] = 0;

            is_valid = h2o_state_read(io, owner, engine.store, state, attn.seq_pos_max(state.seq_id) + 1);
        }
    }
    return is_valid;
}

//
// h2o_sparse_context
//

static std::vector<h2o_step> h2o_reserve_steps(const h2o_plan & plan) {
    return { { (uint32_t) plan.n_graph_tokens(), plan, false } };
}

h2o_sparse_context::h2o_sparse_context(
        h2o_cache & cache, std::vector<h2o_step> steps, std::vector<llama_ubatch> ubatches) :
    cache(cache), steps(std::move(steps)), ubatches(std::move(ubatches)) {
}

h2o_sparse_context::h2o_sparse_context(h2o_cache & cache, const h2o_plan & plan) :
    h2o_sparse_context(cache, h2o_reserve_steps(plan), {}) {
}

void h2o_sparse_context::begin_graph() const {
    if (const h2o_plan * plan = get_plan()) {
        h2o_debug_phases(*plan, *cache.engine.policy, cache.get_n_chunks(plan->stream));
    }
}

bool h2o_sparse_context::next_graph() {
    if (const h2o_plan * plan = get_plan()) {
        h2o_debug_cache(*plan, cache.engine.store);
    }
    return ++i_step < steps.size();
}
