// What persists from one sparse call to the next, and the plans that one call derives from it.
//
// The values (positions and scores per layer and KV head) stay in device buffers that llama_kv_cache_h2o owns; here is only
// what the host must know of them. A graph reads buffer `src` and writes buffer `dst`; the buffer that holds the state is
// not written before the call has succeeded, and only then does the state move on (section 2, "State is transactional and
// small").

#pragma once

#include "h2o.h"

#include "ops/ggml-h2o.h"

#include <cstdint>
#include <vector>

// what one graph of a sparse call does
enum h2o_phase {
    H2O_PHASE_BOTH,  // single-pass: all of it
    H2O_PHASE_INTRA, // two-pass, first: the intra attention of all chunks, stored in the intra cache
    H2O_PHASE_INTER, // two-pass, then for each chunk: inter, accumulate, fuse with the cached intra, select
};

// everything that one graph of a sparse call depends on, besides the model and the context's parameters
struct h2o_plan {
    h2o_phase phase = H2O_PHASE_BOTH;

    // the call
    int32_t   n_tokens = 0; // > n_chunk
    llama_pos pos      = 0; // position, and KV cell, of the first token

    int32_t n_chunk = 0; // S
    int32_t n_local = 0; // L
    int32_t n_heavy = 0; // H

    // chunks of the call that go through this graph: [ic_begin, ic_end)
    int32_t ic_begin = 0;
    int32_t ic_end   = 0;

    int32_t          src       = 0;
    int32_t          dst       = 0;
    ggml_h2o_tracked inherited = {}; // what buffer src holds

    h2o_trace_level trace = H2O_TRACE_OFF;

    // of the call
    int32_t n_full()   const { return n_tokens / n_chunk; } // chunks of S tokens
    int32_t n_tail()   const { return n_tokens % n_chunk; } // tokens of the partial tail chunk, or 0
    int32_t n_chunks() const { return n_full() + (n_tail() > 0 ? 1 : 0); }

    // of this graph
    int32_t n_graph_full()   const { return (ic_end < n_full() ? ic_end : n_full()) - ic_begin; } // 0 for a tail alone
    bool    has_graph_tail() const { return ic_end > n_full(); }
    int32_t n_graph_tokens() const { return n_graph_full()*n_chunk + (has_graph_tail() ? n_tail() : 0); }
    bool    is_first()       const { return ic_begin == 0; }
    bool    is_last()        const { return ic_end == n_chunks(); }

    bool stores_kv() const { return phase != H2O_PHASE_INTER; }

    llama_pos chunk_pos(int32_t ic) const { return pos + ic*n_chunk; }
    int32_t   chunk_len(int32_t ic) const { return ic < n_full() ? n_chunk : n_tail(); }

    // size of the memory set that chunk ic attends to
    int32_t n_mem(int32_t ic) const {
        const llama_pos p = chunk_pos(ic);
        return p < n_local + n_heavy ? p : n_local + n_heavy;
    }

    // what may be remembered once chunk ic is done: its memory set and itself
    ggml_h2o_tracked tracked_after(int32_t ic) const;

    bool operator==(const h2o_plan & other) const;
};

struct h2o_state {
    int32_t          buf      = 0;  // the buffer that holds the state
    ggml_h2o_tracked tracked  = {}; // n_mem = n_chunk = 0: nothing is tracked
    int32_t          n_chunks = 0;  // of the sparse path since the last reset

    // forget everything; position 0, a clear, or an edit of the cache that the state cannot follow
    void reset();

    // positions >= pos were removed: members past it go, the last chunk is cut, votes already cast stay
    void truncate(llama_pos pos);

    bool empty() const { return tracked.n_mem == 0 && tracked.n_chunk == 0; }

    // the graphs of a sparse call in order, of at most n_graph_chunks chunks each and in phase 2 of two-pass of one;
    // `call` says all but phase, ic_begin, ic_end, src, dst and inherited
    std::vector<h2o_plan> plan(h2o_plan call, h2o_schedule schedule, int32_t n_graph_chunks) const;

    // the call whose last graph had this plan succeeded
    void advance(const h2o_plan & last);
};
