#include "checkpoint.h"

namespace addon {

void checkpoint::take(llama_context * ctx, llama_seq_id seq_id) {
    data.resize(llama_state_seq_get_size_ext(ctx, seq_id, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY));
    data.resize(
        llama_state_seq_get_data_ext(ctx, data.data(), data.size(), seq_id, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY));
}

bool checkpoint::restore(llama_context * ctx, llama_seq_id seq_id) {
    const bool is_back = !data.empty() &&
        llama_state_seq_set_data_ext(ctx, data.data(), data.size(), seq_id, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY) > 0;

    drop();
    return is_back;
}

} // namespace addon
