#include "context_state.h"

#include "job.h"

namespace addon {

context_state::~context_state() {
    llama_free(ctx);
}

int32_t context_state::position() const {
    return llama_memory_seq_pos_max(memory, 0) + 1;
}

int32_t context_state::rollback(int32_t base) {
    if (!llama_memory_seq_rm(memory, 0, base, -1)) {
        llama_memory_clear(memory, false);
    }
    return position();
}

bool context_state::on_node(void * data) {
    context_state * self = static_cast<context_state *>(data);
    self->n_nodes_done.fetch_add(1, std::memory_order_relaxed);
    return self->running && self->running->is_aborted();
}

} // namespace addon
