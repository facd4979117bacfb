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
    if (pos >= tracked.chunk_pos + tracked.n_chunk) {
        return; // everything tracked lies before
    }

    tracked.mem_end = std::min(tracked.mem_end, pos);
    tracked.n_chunk = std::clamp(pos - tracked.chunk_pos, 0, tracked.n_chunk);
}

std::vector<h2o_plan> h2o_state::plan(h2o_plan call, h2o_schedule schedule, int32_t n_graph_chunks) const {
    // the chain writes them in turns, and never the one that holds the state
    const int32_t spare[2] = { buf == 0 ? 1 : 0, buf == 2 ? 1 : 2 };

    std::vector<h2o_plan> res;

    call.src       = buf;
    call.dst       = spare[0];
    call.inherited = tracked;

    const auto add = [&](h2o_phase phase, int32_t n_graph_chunks) {
        const bool is_chained = phase != H2O_PHASE_INTRA; // intra attention reads no state

        call.phase = phase;
        for (int32_t ic = 0; ic < call.n_chunks(); ic += n_graph_chunks) {
            call.ic_begin = ic;
            call.ic_end   = std::min(ic + n_graph_chunks, call.n_chunks());
            res.push_back(call);

            if (is_chained) {
                call.inherited = call.tracked_after(call.ic_end - 1);
                call.src       = call.dst;
                call.dst       = call.src == spare[0] ? spare[1] : spare[0];
            }
        }
    };

    if (schedule == H2O_SCHEDULE_SINGLE_PASS) {
        add(H2O_PHASE_BOTH, n_graph_chunks);
    } else {
        add(H2O_PHASE_INTRA, n_graph_chunks);
        add(H2O_PHASE_INTER, 1);
    }
    return res;
}

void h2o_state::advance(const h2o_plan & last) {
    buf       = last.dst;
    tracked   = last.tracked_after(last.ic_end - 1);
    n_chunks += last.n_chunks();
}
