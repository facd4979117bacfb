// What persists from one sparse call to the next, and the plan that one call derives from it.
//
// The values (positions and scores per layer and KV head) stay in device buffers that llama_kv_cache_h2o owns, double
// buffered; here is only what the host must know of them. A call reads buffer `src` and writes the other one; the state
// moves on when the call has succeeded (h2o_state::advance) and otherwise stays as it was (section 2, "State is
// transactional and small").

#pragma once

#include "h2o.h"

#include "ops/ggml-h2o.h"

#include <cstdint>

// everything that the graph of one sparse call depends on, besides the model and the context's parameters
struct h2o_plan {
    int32_t   n_tokens = 0; // > n_chunk
    llama_pos pos      = 0; // position, and KV cell, of the first token

    int32_t n_chunk = 0; // S
    int32_t n_local = 0; // L
    int32_t n_heavy = 0; // H

    int32_t          src       = 0;  // buffer to read; the other one is written
    ggml_h2o_tracked inherited = {}; // what buffer src holds

    bool trace = false;

    int32_t n_full()   const { return n_tokens / n_chunk; }                    // chunks of S tokens
    int32_t n_tail()   const { return n_tokens % n_chunk; }                    // tokens of the partial tail chunk, or 0
    int32_t n_chunks() const { return n_full() + (n_tail() > 0 ? 1 : 0); }

    llama_pos chunk_pos(int32_t ic) const { return pos + ic*n_chunk; }
    int32_t   chunk_len(int32_t ic) const { return ic < n_full() ? n_chunk : n_tail(); }

    // size of the memory set that chunk ic attends to
    int32_t n_mem(int32_t ic) const {
        const llama_pos p = chunk_pos(ic);
        return p < n_local + n_heavy ? p : n_local + n_heavy;
    }

    int32_t n_inherited() const { return inherited.n_mem > 0 || inherited.n_chunk > 0 ? n_mem(0) : 0; }

    bool operator==(const h2o_plan & other) const;
};

struct h2o_state {
    int32_t          buf     = 0;  // the buffer that holds the state
    ggml_h2o_tracked tracked = {}; // n_mem = n_chunk = 0: nothing is tracked

    // forget everything; position 0, a clear, or an edit of the cache that the state cannot follow
    void reset();

    // positions >= pos were removed: members past it go, the last chunk is cut, votes already cast stay
    void truncate(llama_pos pos);

    bool empty() const { return tracked.n_mem == 0 && tracked.n_chunk == 0; }

    // the call of the plan succeeded
    void advance(const h2o_plan & plan);
};
