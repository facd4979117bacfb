#include "context-state.h"

#include "runtime/job.h"

#include <algorithm>
#include <cstring>

namespace addon {

size_t trace_n_mass(const h2o_trace & t) {
    return (size_t) (t.pos + t.n_chunk) * t.n_heads * std::max(t.n_sets, 1);
}

trace_entry::trace_entry(const h2o_trace & t) : entry(t) {
    const size_t n_mem   = (size_t) t.n_mem * t.n_heads * t.n_sets;
    const size_t n_chunk = (size_t) t.n_chunk * t.n_heads;
    const size_t n_mass  = trace_n_mass(t);

    data.reserve(2*n_mem + 2*n_chunk + (t.mass ? n_mass : 0)); // pointers stay

    const auto copy = [&](const void * src, size_t n) -> const float * {
        if (!src) {
            return nullptr;
        }
        const size_t at = data.size();
        data.resize(at + n);
        memcpy(data.data() + at, src, n * sizeof(float));
        return data.data() + at;
    };
    entry.mem_pos     = (const int32_t *) copy(t.mem_pos, n_mem);
    entry.order       = (const int32_t *) copy(t.order, n_chunk);
    entry.mem_score   = copy(t.mem_score,   n_mem);
    entry.chunk_score = copy(t.chunk_score, n_chunk);
    entry.mass        = copy(t.mass,        n_mass);
}

context_state::~context_state() {
    llama_free(ctx);
}

int32_t context_state::position(llama_seq_id seq_id) const {
    return llama_memory_seq_pos_max(memory, seq_id) + 1;
}

bool context_state::is_recurrent() const {
    return llama_model_is_recurrent(model.get()) || llama_model_is_hybrid(model.get());
}

int32_t context_state::earliest(llama_seq_id seq_id) const {
    if (is_recurrent()) {
        return position(seq_id);
    }
    const int32_t n_swa   = llama_model_n_swa(model.get());
    const int32_t pos_min = llama_memory_seq_pos_min(memory, seq_id);

    return n_swa > 0 && pos_min > 0 ? pos_min + n_swa - 1 : 0;
}

void context_state::require_room(int32_t position, size_t n) const {
    if (position + n > n_positions) {
        throw failure("ERR_H2O_PROMPT_TOO_LONG", "the model knows no positions this far",
            {{"nPrompt", (double) n}, {"nPositions", n_positions}, {"position", (double) position}});
    }
    const uint32_t n_ctx = llama_n_ctx_seq(ctx);
    if (position + n > n_ctx) {
        throw failure("ERR_H2O_PROMPT_TOO_LONG", "the tokens do not fit into the context",
            {{"nPrompt", (double) n}, {"nCtx", (double) n_ctx}, {"position", (double) position}});
    }
}

failure context_state::gone(llama_seq_id seq_id, int32_t from, int32_t position) const {
    return failure("ERR_H2O_POSITION_GONE",
        is_recurrent() ? "the recurrent layers of this model cannot forget a part of what they read"
                       : "the sliding windows of this model no longer reach that far back",
        {{"from", (double) from}, {"earliest", (double) earliest(seq_id)}, {"position", (double) position}});
}

void context_state::clear(llama_seq_id seq_id) const {
    if (llama_n_seq_max(ctx) == 1) {
        llama_memory_clear(memory, false);
    } else {
        llama_memory_seq_rm(memory, seq_id, -1, -1);
    }
}

void context_state::begin_call(llama_seq_id seq_id, size_t n_tokens) {
    before.drop();

    if (is_recurrent() && n_tokens > 1 && position(seq_id) > 0 && h2o_get_info(ctx).reason != H2O_REASON_NONE) {
        before.take(ctx, seq_id);
    }
}

int32_t context_state::rollback(llama_seq_id seq_id, int32_t base, bool is_torn) {
    if (is_recurrent()) {
        before.restore(ctx, seq_id);
    } else if (llama_model_n_swa(model.get()) > 0 && !is_torn) {
        return position(seq_id);
    }
    if (base < earliest(seq_id) || !llama_memory_seq_rm(memory, seq_id, base, -1)) {
        clear(seq_id);
    }
    return position(seq_id);
}

bool context_state::on_node(void * data) {
    context_state * self = static_cast<context_state *>(data);
    self->n_nodes_done.fetch_add(1, std::memory_order_relaxed);
    return self->running && self->running->is_aborted();
}

} // namespace addon
