// What one graph of a sparse call does: plain data, compared as a whole when a graph is to be reused.

#pragma once

#include "h2o.h"

#include "ops/ggml-h2o.h"

#include <cstdint>

enum h2o_phase {
    H2O_PHASE_BOTH,  // single-pass: all of it
    H2O_PHASE_INTRA, // two-pass, first: the intra attention of all chunks, stored in the intra cache
    H2O_PHASE_INTER, // two-pass, then for each chunk: its set, inter, accumulate, fuse with the cached intra
};

// What the host must know of the values that a policy hands from graph to graph and from call to call. The values
// themselves stay on the device, in a buffer of the store. A policy uses the members that it needs and leaves the
// others at zero.
struct h2o_carry {
    ggml_h2o_tracked tracked   = {}; // votes: the positions that selection may choose from
    int32_t          n_indexed = 0;  // query: the index knows the keys of positions [0, n_indexed)

    // nothing would be lost with it: an index is made again from the cache
    bool empty() const { return tracked.n_mem == 0 && tracked.n_chunk == 0; }

    bool operator==(const h2o_carry & other) const;
};

// everything that one graph of a sparse call depends on, besides the model and the context's parameters
struct h2o_plan {
    h2o_phase phase = H2O_PHASE_BOTH;

    // the tokens of one sequence in a call
    int32_t   n_tokens = 0;
    llama_pos pos      = 0; // position, and cell of their stream, of the first token
    int32_t   stream   = 0; // of the cache, and of the store

    int32_t n_chunk = 0; // S
    int32_t n_local = 0; // L
    int32_t n_heavy = 0; // H
    bool    heavy_grows = false;

    bool is_local_near = false; // Local is attended to together with the chunk, and no part of the set

    // chunks that go through this graph: [ic_begin, ic_end)
    int32_t ic_begin = 0;
    int32_t ic_end   = 0;

    // buffers of the store
    int32_t   src       = 0;
    int32_t   dst       = 0;
    h2o_carry inherited = {}; // of buffer src

    h2o_trace_level trace = H2O_TRACE_OFF;

    // of these tokens
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

    // first token of chunk ic among those of this graph
    int32_t chunk_token(int32_t ic) const { return (ic - ic_begin)*n_chunk; }

    // positions before chunk ic that its intra attention reads
    int32_t n_near(int32_t ic) const {
        const llama_pos p = chunk_pos(ic);
        return !is_local_near ? 0 : p < n_local ? p : n_local;
    }

    // positions that chunk ic chooses from
    int32_t n_cand(int32_t ic) const { return chunk_pos(ic) - n_near(ic); }

    // size of the memory set that chunk ic attends to
    int32_t n_mem(int32_t ic) const {
        const int32_t n_max = is_local_near ? h2o_heavy_among(n_heavy, heavy_grows, n_cand(ic)) : n_local + n_heavy;
        return n_cand(ic) < n_max ? n_cand(ic) : n_max;
    }

    bool operator==(const h2o_plan & other) const;
};
