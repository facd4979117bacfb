#include "h2o-plan.h"

bool h2o_carry::operator==(const h2o_carry & other) const {
    const ggml_h2o_tracked & a = tracked;
    const ggml_h2o_tracked & b = other.tracked;

    return a.n_mem == b.n_mem && a.mem_end == b.mem_end && a.chunk_pos == b.chunk_pos && a.n_chunk == b.n_chunk &&
        n_indexed == other.n_indexed;
}

bool h2o_plan::operator==(const h2o_plan & other) const {
    return
        phase     == other.phase    &&
        n_tokens  == other.n_tokens &&
        pos       == other.pos      &&
        stream    == other.stream   &&
        n_chunk   == other.n_chunk  &&
        n_local   == other.n_local  &&
        n_heavy   == other.n_heavy  &&
        heavy_grows   == other.heavy_grows   &&
        is_local_near == other.is_local_near &&
        ic_begin  == other.ic_begin &&
        ic_end    == other.ic_end   &&
        src       == other.src      &&
        dst       == other.dst      &&
        trace     == other.trace    &&
        inherited == other.inherited;
}
