#include "h2o-state.h"

#include <algorithm>
#include <limits>

static bool h2o_tracked_equal(const ggml_h2o_tracked & a, const ggml_h2o_tracked & b) {
    return a.n_mem == b.n_mem && a.mem_end == b.mem_end && a.chunk_pos == b.chunk_pos && a.n_chunk == b.n_chunk;
}

bool h2o_plan::operator==(const h2o_plan & other) const {
    return
        n_tokens == other.n_tokens &&
        pos      == other.pos      &&
        n_chunk  == other.n_chunk  &&
        n_local  == other.n_local  &&
        n_heavy  == other.n_heavy  &&
        src      == other.src      &&
        trace    == other.trace    &&
        h2o_tracked_equal(inherited, other.inherited);
}

void h2o_state::reset() {
    // always the same buffer, so that a repeated prompt finds the graph of the first one
    *this = h2o_state();
}

void h2o_state::truncate(llama_pos pos) {
    if (pos <= 0) {
        reset();
        return;
    }

    tracked.mem_end = std::min(tracked.mem_end, pos);
    tracked.n_chunk = std::clamp(pos - tracked.chunk_pos, 0, tracked.n_chunk);
}

void h2o_state::advance(const h2o_plan & plan) {
    const int32_t ic = plan.n_chunks() - 1;

    buf     = 1 - plan.src;
    tracked = { plan.n_mem(ic), std::numeric_limits<int32_t>::max(), plan.chunk_pos(ic), plan.chunk_len(ic) };
}
