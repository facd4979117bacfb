#include "h2o-kv-cache.h"

#include "h2o-coverage.h"
#include "h2o-debug.h"

#include "llama-batch.h"
#include "llama-impl.h"
#include "llama-io.h"
#include "llama-model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

// Upstream never puts more than n_ubatch tokens into a graph, and its ops have limits that only longer ones meet: 2^16 rows
// of a CUDA grid (norm, rope), 2^30 bytes of offset (SET, into the queries), shared memory (experts). This is well below.
static constexpr uint32_t h2o_max_graph_tokens = 16384;

// On a device a graph holds the whole call if it can, so that all chunks' intra attention is one launch. The CPU gains
// nothing from more than one chunk, and pays with compute buffers that grow with n_batch and with activations that leave
// its caches.
static int32_t h2o_n_graph_chunks(const llama_model & model, const llama_cparams & cparams) {
    for (uint32_t il = 0; il < model.hparams.n_layer(); ++il) {
        ggml_backend_dev_t dev = model.dev_layer(il);

        if (dev && ggml_backend_dev_type(dev) != GGML_BACKEND_DEVICE_TYPE_CPU) {
            const uint32_t n_chunks = (cparams.n_batch + cparams.n_ubatch - 1)/cparams.n_ubatch;

            return std::clamp(h2o_max_graph_tokens/cparams.n_ubatch, 1u, n_chunks);
        }
    }
    return 1;
}

llama_kv_cache_h2o::llama_kv_cache_h2o(
        const llama_model   & model,
        const llama_hparams & hparams,
        const llama_cparams & cparams,
                  ggml_type   type_k,
                  ggml_type   type_v) :
    llama_kv_cache(
            model, hparams, type_k, type_v, !cparams.flash_attn, cparams.offload_kqv, cparams.kv_unified, cparams.n_ctx_seq,
            cparams.n_seq_max, 1, hparams.n_swa, hparams.swa_type, nullptr, nullptr, nullptr, nullptr),
    cparams(cparams), no_alloc(hparams.no_alloc), is_fused(h2o_has_fused_attn(model, cparams, type_k, type_v)),
    n_graph_chunks(h2o_n_graph_chunks(model, cparams)) {
    const uint32_t n_mem   = cparams.h2o_local + cparams.h2o_heavy;
    const uint32_t n_chunk = cparams.n_ubatch;

    const bool is_two_pass = cparams.h2o_schedule == H2O_SCHEDULE_TWO_PASS;

    // the graphs of a call write two in turns, and neither is the one that holds the state
    const int n_bufs = 3;

    const ggml_type type_o = type_k == GGML_TYPE_F32 && type_v == GGML_TYPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;

    std::map<ggml_backend_buffer_type_t, ggml_context_ptr> ctxs;

    for (const uint32_t il : get_layer_ids()) {
        ggml_backend_buffer_type_t buft =
            cparams.offload_kqv ? ggml_backend_dev_buffer_type(model.dev_layer(il)) : ggml_backend_cpu_buffer_type();

        ggml_context_ptr & ctx = ctxs[buft];
        if (!ctx) {
            ctx.reset(ggml_init({ (n_bufs + 1)*3*hparams.n_layer_all*ggml_tensor_overhead(), nullptr, true }));
        }

        const uint32_t n_head_kv = hparams.n_head_kv(il);

        for (int i = 0; i < n_bufs; ++i) {
            const h2o_layer_state layer = {
                ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, n_mem,   n_head_kv),
                ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n_mem,   n_head_kv),
                ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n_chunk, n_head_kv),
            };
            ggml_format_name(layer.mem_pos,     "h2o_mem_pos_%d_l%d",     i, il);
            ggml_format_name(layer.mem_score,   "h2o_mem_score_%d_l%d",   i, il);
            ggml_format_name(layer.chunk_score, "h2o_chunk_score_%d_l%d", i, il);
            layers[il].push_back(layer);
        }

        if (is_two_pass) {
            const uint32_t n_head   = hparams.n_head(il);
            const uint32_t n_chunks = (cparams.n_batch + n_chunk - 1)/n_chunk;

            intra[il] = {
                ggml_new_tensor_2d(ctx.get(), type_o, hparams.n_embd_head_v(il)*n_head, cparams.n_batch),
                ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n_head, cparams.n_batch),
                ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, n_chunk, n_head_kv, n_chunks),
            };
            ggml_format_name(intra[il].o,     "h2o_intra_o_l%d",     il);
            ggml_format_name(intra[il].lse,   "h2o_intra_lse_l%d",   il);
            ggml_format_name(intra[il].votes, "h2o_intra_votes_l%d", il);
        }
    }

    for (auto & [buft, ctx] : ctxs) {
        ggml_backend_buffer_ptr buf(no_alloc
            ? ggml_backend_buft_alloc_buffer(buft, 0)
            : ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), buft));
        if (!buf) {
            throw std::runtime_error("failed to allocate the H2O state buffers");
        }
        if (no_alloc) {
            for (ggml_tensor * t = ggml_get_first_tensor(ctx.get()); t != nullptr; t = ggml_get_next_tensor(ctx.get(), t)) {
                t->buffer = buf.get();
            }
        }
        ggml_backend_buffer_clear(buf.get(), 0);
        bufs.emplace_back(std::move(ctx), std::move(buf));
    }
}

//
// one decode call
//

bool llama_kv_cache_h2o::is_contiguous(llama_pos pos) const {
    const llama_kv_cells & cells = get_cells(0);

    if (pos < 0 || (uint32_t) pos > cells.size()) {
        return false;
    }
    for (llama_pos i = 0; i < pos; ++i) {
        if (cells.is_empty(i) || cells.pos_get(i) != i || !cells.seq_has(i, 0) || cells.seq_count(i) != 1 || cells.get_shift(i) != 0) {
            return false;
        }
    }
    return cells.used_max_p1() == (uint32_t) pos;
}

h2o_reason llama_kv_cache_h2o::refuse_batch(const llama_batch & batch, uint32_t n_tokens, bool embd_all) const {
    if (refused != H2O_REASON_NONE) {
        return refused;
    }
    if (!batch.token || batch.embd) {
        return H2O_REASON_EMBEDDING_INPUT;
    }
    if (embd_all) {
        return H2O_REASON_UNSUPPORTED_CONTEXT;
    }
    if (!cparams.causal_attn) {
        return H2O_REASON_NON_CAUSAL;
    }
    for (uint32_t i = 0; i < n_tokens; ++i) {
        if (batch.n_seq_id[i] != 1 || batch.seq_id[i][0] != 0) {
            return H2O_REASON_MULTI_SEQUENCE;
        }
    }
    if (n_tokens <= cparams.n_ubatch) {
        return H2O_REASON_ONE_CHUNK;
    }
    for (uint32_t i = 1; i < n_tokens; ++i) {
        if (batch.pos[i] != batch.pos[0] + (llama_pos) i) {
            return H2O_REASON_POSITIONS_NOT_CONSECUTIVE;
        }
    }
    if (!is_contiguous(batch.pos[0])) {
        return H2O_REASON_KV_NOT_CONTIGUOUS;
    }
    return H2O_REASON_NONE;
}

llama_memory_context_ptr llama_kv_cache_h2o::init_batch(llama_batch_allocr & balloc, uint32_t n_ubatch, bool embd_all) {
    const llama_batch & batch = balloc.get_batch();

    const uint32_t n_tokens = balloc.get_n_tokens();

    call = { (int32_t) n_tokens, batch.pos[0], H2O_PATH_DENSE, refuse_batch(batch, n_tokens, embd_all), 0, 0 };

    if (call.reason != H2O_REASON_NONE) {
        return llama_kv_cache::init_batch(balloc, n_ubatch, embd_all);
    }

    std::vector<h2o_plan> plans = plan_call(state, new_plan(n_tokens, call.pos));

    std::vector<llama_ubatch> ubatches; // one per plan
    uint32_t n_stores = 0;

    for (const h2o_plan & plan : plans) {
        if (plan.is_first()) {
            balloc.split_reset();
        }
        ubatches.push_back(balloc.split_simple(plan.n_graph_tokens()));

        if (plan.phase == H2O_PHASE_INTRA) {
            // phase 1 has no outputs, and the order of the outputs is that of the chunks
            std::fill(ubatches.back().data->output.begin(), ubatches.back().data->output.end(), 0);
        }
        n_stores += plan.stores_kv();
    }

    const std::vector<llama_ubatch> stores(ubatches.begin(), ubatches.begin() + n_stores);

    auto sinfos = prepare(stores);
    if (sinfos.empty()) {
        return std::make_unique<llama_kv_cache_context>(LLAMA_MEMORY_STATUS_FAILED_PREPARE);
    }

    for (uint32_t i = 0; i < n_stores; ++i) {
        if (!sinfos[i].is_contiguous() || sinfos[i].head() != (uint32_t) plans[i].chunk_pos(plans[i].ic_begin)) {
            call.reason = H2O_REASON_KV_NOT_CONTIGUOUS;
            return llama_kv_cache::init_batch(balloc, n_ubatch, embd_all);
        }
    }

    last = plans.back();

    call.path        = H2O_PATH_SPARSE;
    call.n_chunks    = last.n_chunks();
    call.n_inherited = state.empty() ? 0 : last.n_mem(0);

    return std::make_unique<llama_kv_cache_h2o_context>(this, std::move(plans), state.n_chunks, std::move(sinfos), std::move(ubatches));
}

std::vector<h2o_plan> llama_kv_cache_h2o::plan_call(const h2o_state & from, const h2o_plan & plan) const {
    return from.plan(plan, (h2o_schedule) cparams.h2o_schedule, n_graph_chunks);
}

h2o_plan llama_kv_cache_h2o::new_plan(uint32_t n_tokens, llama_pos pos) const {
    h2o_plan plan;
    plan.n_tokens = n_tokens;
    plan.pos      = pos;
    plan.n_chunk  = cparams.n_ubatch;
    plan.n_local  = cparams.h2o_local;
    plan.n_heavy  = cparams.h2o_heavy;
    plan.trace    = trace;
    return plan;
}

void llama_kv_cache_h2o::commit() {
    if (call.path == H2O_PATH_SPARSE) {
        state.advance(last);
    }
}

void llama_kv_cache_h2o::rollback(const llama_batch & batch) {
    std::map<llama_seq_id, llama_pos> pos_min;

    for (int32_t i = 0; i < batch.n_tokens; ++i) {
        for (int32_t s = 0; s < batch.n_seq_id[i]; ++s) {
            const auto it = pos_min.emplace(batch.seq_id[i][s], batch.pos[i]).first;
            it->second = std::min(it->second, batch.pos[i]);
        }
    }
    for (const auto & [seq_id, pos] : pos_min) {
        seq_rm(seq_id, pos, -1);
    }
}

std::vector<std::unique_ptr<llama_kv_cache_h2o_context>> llama_kv_cache_h2o::init_reserve(uint32_t n_tokens) {
    h2o_plan call = new_plan(n_tokens, get_size() - n_tokens);
    call.trace = H2O_TRACE_OFF;

    // as if a long prompt came before, so that every chunk has a memory set
    h2o_state full;
    full.tracked = { call.n_local + call.n_heavy, std::numeric_limits<int32_t>::max(), call.pos - call.n_chunk, call.n_chunk };

    const std::vector<h2o_plan> plans = plan_call(full, call);

    std::vector<std::unique_ptr<llama_kv_cache_h2o_context>> res;
    res.push_back(std::make_unique<llama_kv_cache_h2o_context>(this, plans.front()));
    if (plans.size() > 1) {
        res.push_back(std::make_unique<llama_kv_cache_h2o_context>(this, plans.back()));
    }
    return res;
}

//
// edits of the cache
//

void llama_kv_cache_h2o::reset_with_warning(const char * why) {
    if (!state.empty()) {
        LLAMA_LOG_WARN("%s: H2O memory set dropped: %s\n", __func__, why);
    }
    state.reset();
}

void llama_kv_cache_h2o::clear(bool data) {
    llama_kv_cache::clear(data);
    state.reset();
}

bool llama_kv_cache_h2o::seq_rm(llama_seq_id seq_id, llama_pos p0, llama_pos p1) {
    const llama_pos pos_max = seq_pos_max(0);

    if (!llama_kv_cache::seq_rm(seq_id, p0, p1)) {
        return false;
    }

    p0 = std::max(p0, 0);

    if (seq_id > 0 || p0 > pos_max || (p1 >= 0 && p1 <= p0)) {
        return true; // nothing of sequence 0 was removed
    }
    if (p1 < 0 || p1 > pos_max) {
        state.truncate(p0);
    } else {
        reset_with_warning("positions were removed from the middle of the sequence");
    }
    return true;
}

void llama_kv_cache_h2o::seq_cp(llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) {
    llama_kv_cache::seq_cp(seq_id_src, seq_id_dst, p0, p1);
    if (seq_id_src != seq_id_dst) {
        reset_with_warning("a sequence was copied");
    }
}

void llama_kv_cache_h2o::seq_keep(llama_seq_id seq_id) {
    llama_kv_cache::seq_keep(seq_id);
    if (seq_id != 0) {
        state.reset();
    }
}

void llama_kv_cache_h2o::seq_add(llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos shift) {
    llama_kv_cache::seq_add(seq_id, p0, p1, shift);
    if (shift != 0) {
        reset_with_warning("positions were shifted");
    }
}

void llama_kv_cache_h2o::seq_div(llama_seq_id seq_id, llama_pos p0, llama_pos p1, int d) {
    llama_kv_cache::seq_div(seq_id, p0, p1, d);
    if (d != 1) {
        reset_with_warning("positions were divided");
    }
}

//
// sizes
//

std::map<ggml_backend_buffer_type_t, size_t> llama_kv_cache_h2o::memory_breakdown() const {
    auto res = llama_kv_cache::memory_breakdown();

    for (const auto & [ctx, buf] : bufs) {
        ggml_backend_buffer_type_t buft = ggml_backend_buffer_get_type(buf.get());

        res[buft] += no_alloc
            ? ggml_backend_alloc_ctx_tensors_from_buft_size(ctx.get(), buft)
            : ggml_backend_buffer_get_size(buf.get());
    }
    return res;
}

size_t llama_kv_cache_h2o::size_state() const {
    size_t res = 0;
    for (const auto & it : layers) {
        for (const h2o_layer_state & layer : it.second) {
            res += ggml_nbytes(layer.mem_pos) + ggml_nbytes(layer.mem_score) + ggml_nbytes(layer.chunk_score);
        }
    }
    return res;
}

size_t llama_kv_cache_h2o::size_intra() const {
    size_t res = 0;
    for (const auto & it : intra) {
        res += ggml_nbytes(it.second.o) + ggml_nbytes(it.second.lse) + ggml_nbytes(it.second.votes);
    }
    return res;
}

size_t llama_kv_cache_h2o::size_kv() const {
    size_t res = 0;
    for (const auto & it : llama_kv_cache::memory_breakdown()) {
        res += it.second;
    }
    return res;
}

//
// save and restore
//

// follows the KV data: a header that says what the state belongs to, then the live buffer of every layer
struct h2o_state_header {
    char     magic[4];
    uint32_t n_local;
    uint32_t n_heavy;
    uint32_t n_chunk;
    int32_t  n_chunks;
    uint32_t policy; // whose scores these are; 0 is votes
    uint64_t size; // bytes that follow

    ggml_h2o_tracked tracked;
};

static const char H2O_STATE_MAGIC[4] = { 'H', '2', 'O', '1' };

void llama_kv_cache_h2o::state_write(llama_io_write_i & io, llama_seq_id seq_id, llama_state_seq_flags flags) const {
    llama_kv_cache::state_write(io, seq_id, flags);

    const bool is_carried = seq_id <= 0 && !state.empty();

    h2o_state_header header = {};
    memcpy(header.magic, H2O_STATE_MAGIC, sizeof(header.magic));
    header.n_local = cparams.h2o_local;
    header.n_heavy = cparams.h2o_heavy;
    header.n_chunk = cparams.n_ubatch;

    if (is_carried) {
        header.n_chunks = state.n_chunks;
        header.tracked  = state.tracked;
        header.size     = size_state()/layers.begin()->second.size();
    }
    io.write(&header, sizeof(header));

    if (!is_carried) {
        return;
    }

    std::vector<uint8_t> data;

    for (const auto & it : layers) {
        const h2o_layer_state & layer = it.second[state.buf];

        for (const ggml_tensor * t : { layer.mem_pos, layer.mem_score, layer.chunk_score }) {
            data.resize(ggml_nbytes(t));
            ggml_backend_tensor_get(t, data.data(), 0, data.size());
            io.write(data.data(), data.size());
        }
    }
}

// the members index the cache on the device: those that count must ascend and lie before the end of the sequence
static bool h2o_is_valid_memory(const ggml_tensor * mem_pos, const uint8_t * data, const ggml_h2o_tracked & tracked, llama_pos end) {
    for (int64_t ih = 0; ih < mem_pos->ne[1]; ++ih) {
        const int32_t * pos = (const int32_t *) (data + ih*mem_pos->nb[1]);

        for (int32_t i = 0; i < tracked.n_mem; ++i) {
            if (pos[i] < 0 || (pos[i] >= end && pos[i] < tracked.mem_end) || (i > 0 && pos[i] <= pos[i - 1])) {
                return false;
            }
        }
    }
    return true;
}

void llama_kv_cache_h2o::state_read(llama_io_read_i & io, llama_seq_id seq_id, llama_state_seq_flags flags) {
    llama_kv_cache::state_read(io, seq_id, flags);

    if (seq_id <= 0) {
        state.reset();
    }

    h2o_state_header header;
    try {
        io.read(&header, sizeof(header));
    } catch (const std::exception &) {
        header = {};
    }
    if (memcmp(header.magic, H2O_STATE_MAGIC, sizeof(header.magic)) != 0) {
        LLAMA_LOG_WARN("%s: the state comes from a context without H2O: it starts without a memory set\n", __func__);
        return;
    }
    if (header.size == 0) {
        return;
    }

    const bool is_ours =
        seq_id <= 0 && header.n_local == cparams.h2o_local && header.n_heavy == cparams.h2o_heavy && header.n_chunk == cparams.n_ubatch &&
        header.policy == 0 &&
        header.size == size_state()/layers.begin()->second.size();

    std::vector<uint8_t> data;

    if (!is_ours) {
        LLAMA_LOG_WARN("%s: the state has another H2O budget or chunk size: it starts without a memory set\n", __func__);

        data.resize(64*1024);
        for (uint64_t left = header.size; left > 0; ) {
            const size_t n = std::min<uint64_t>(left, data.size());
            io.read(data.data(), n);
            left -= n;
        }
        return;
    }

    const ggml_h2o_tracked & tracked = header.tracked;

    const llama_pos end = seq_pos_max(0) + 1;

    bool is_valid =
        tracked.n_mem   >= 0 && tracked.n_mem   <= (int32_t) (header.n_local + header.n_heavy) &&
        tracked.n_chunk >= 0 && tracked.n_chunk <= (int32_t) header.n_chunk &&
        tracked.chunk_pos >= 0 && (tracked.n_chunk == 0 || tracked.chunk_pos <= end - tracked.n_chunk);

    for (const auto & it : layers) {
        const h2o_layer_state & layer = it.second[state.buf];

        for (ggml_tensor * t : { layer.mem_pos, layer.mem_score, layer.chunk_score }) {
            data.resize(ggml_nbytes(t));
            io.read(data.data(), data.size());
            is_valid = is_valid && (t != layer.mem_pos || h2o_is_valid_memory(t, data.data(), tracked, end));
            ggml_backend_tensor_set(t, data.data(), 0, data.size());
        }
    }

    if (!is_valid) {
        clear(true); // as upstream does with a state that it cannot read to the end
        throw std::runtime_error("the H2O part of the state is damaged");
    }

    state.tracked  = tracked;
    state.n_chunks = header.n_chunks;
}

//
// llama_kv_cache_h2o_context
//

llama_kv_cache_h2o_context::llama_kv_cache_h2o_context(
        llama_kv_cache_h2o * cache,
        std::vector<h2o_plan> plans,
        int32_t n_chunks_prev,
        llama_kv_cache::slot_info_vec_t sinfos,
        std::vector<llama_ubatch> ubatches) :
    llama_kv_cache_context(cache, std::move(sinfos), ubatches),
    cache(cache), plans(std::move(plans)), n_chunks_prev(n_chunks_prev), ubatches(std::move(ubatches)) {
}

llama_kv_cache_h2o_context::llama_kv_cache_h2o_context(llama_kv_cache_h2o * cache, h2o_plan plan) :
    llama_kv_cache_context(cache), cache(cache), plans({ plan }) {
}

bool llama_kv_cache_h2o_context::next() {
    h2o_debug_cache(*cache, get_plan());

    if (++i_plan == plans.size()) {
        return false;
    }
    if (get_plan().stores_kv()) {
        llama_kv_cache_context::next();
    }
    return true;
}

bool llama_kv_cache_h2o_context::apply() {
    h2o_debug_phases(get_plan(), n_chunks_prev);

    return !get_plan().stores_kv() || llama_kv_cache_context::apply();
}

const llama_ubatch & llama_kv_cache_h2o_context::get_ubatch() const {
    return ubatches[i_plan];
}
