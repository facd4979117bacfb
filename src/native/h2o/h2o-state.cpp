#include "h2o-state.h"

#include <algorithm>
#include <limits>

static bool h2o_tracked_equal(const ggml_h2o_tracked & a, const ggml_h2o_tracked & b) {
    return a.n_mem == b.n_mem && a.mem_end == b.mem_end && a.chunk_pos == b.chunk_pos && a.n_chunk == b.n_chunk;
}

ggml_h2o_tracked h2o_plan::tracked_after(int32_t ic) const {
    return { n_mem(ic), std::numeric_limits<int32_t>::max(), chunk_pos(ic), chunk_len(ic) };
}

bool h2o_plan::operator==(const h2o_plan & other) const {
    return
        phase    == other.phase    &&
        n_tokens == other.n_tokens &&
        pos      == other.pos      &&
        n_chunk  == other.n_chunk  &&
        n_local  == other.n_local  &&
        n_heavy  == other.n_heavy  &&
        ic_begin == other.ic_begin &&
        ic_end   == other.ic_end   &&
        src      == other.src      &&
        dst      == other.dst      &&
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

std::vector<h2o_plan> h2o_state::plan(h2o_plan call, h2o_schedule schedule) const {
    // the two buffers besides the one that holds the state; single-pass needs only the first
    const int32_t spare[2] = { buf == 0 ? 1 : 0, buf == 2 ? 1 : 2 };

    call.ic_begin  = 0;
    call.ic_end    = call.n_chunks();
    call.src       = buf;
    call.dst       = spare[0];
    call.inherited = tracked;

    if (schedule == H2O_SCHEDULE_SINGLE_PASS) {
        call.phase = H2O_PHASE_BOTH;
        return { call };
    }

    std::vector<h2o_plan> res;

    call.phase  = H2O_PHASE_INTRA;
    call.ic_end = 0;
    res.push_back(call);

    call.phase = H2O_PHASE_INTER;
    for (int32_t ic = 0; ic < call.n_chunks(); ++ic) {
        call.ic_begin = ic;
        call.ic_end   = ic + 1;
        call.dst      = spare[ic % 2];
        res.push_back(call);

        call.src       = call.dst;
        call.inherited = call.tracked_after(ic);
    }
    return res;
}

void h2o_state::advance(const h2o_plan & last) {
    buf       = last.dst;
    tracked   = last.tracked_after(last.ic_end - 1);
    n_chunks += last.n_chunks();
}
