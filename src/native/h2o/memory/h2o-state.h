// What a sequence keeps from one sparse call to the next, as the host knows it, and the graphs that one call derives from it.
//
// A graph reads copy `src` of the store and writes copy `dst`. The copy that holds the state is not written before the
// call has succeeded, and only then does the state move on (README.md, "State").

#pragma once

#include "h2o-policy.h"

class llama_io_read_i;
class llama_io_write_i;

class h2o_store;

struct h2o_state {
    explicit h2o_state(const h2o_policy & policy, int32_t stream = 0, llama_seq_id seq_id = 0) :
        stream(stream), seq_id(seq_id), policy(&policy) {}

    int32_t      stream; // of the store
    llama_seq_id seq_id; // whose positions the members below speak of; where all share one stream, the last that was sparse

    int32_t   copy     = 0;  // of the store: the one that holds the state
    h2o_carry carry    = {}; // of this copy
    int32_t   n_chunks = 0;  // of the sparse path since the last reset
    int32_t   n_signed = 0;  // the index of sparse decoding knows the keys of positions [0, n_signed)

    bool empty()     const { return carry.empty(); }
    bool remembers() const { return policy->remembers(carry); }

    // forget everything; position 0, a clear, or an edit of the cache that the state cannot follow
    void reset();

    // positions >= pos were removed
    void truncate(llama_pos pos);

    // the state of another sequence of the stream, empty
    h2o_state of(llama_seq_id seq_id) const { return h2o_state(*policy, stream, seq_id); }

    // the graphs of a sparse call in order, of at most n_graph_chunks chunks each and in phase 2 of two-pass of one;
    // `call` says all but stream, phase, ic_begin, ic_end, src, dst and inherited
    std::vector<h2o_plan> plan(h2o_plan call, h2o_schedule schedule, int32_t n_graph_chunks) const;

    // the call ended with the graph of this plan
    void advance(const h2o_plan & last);

private:
    const h2o_policy * policy;
};

// Saving: a header that says what the state belongs to, then the live copy of every layer. It follows the KV data; where
// that is of all sequences, so is this, stream by stream.

struct h2o_state_owner {
    const h2o_policy & policy;
    const h2o_params & params;  // clamped
    uint32_t           n_chunk; // S
};

// is_carried: false writes the header alone
void h2o_state_write(
        llama_io_write_i      & io,
        const h2o_state_owner & owner,
        const h2o_store       & store,
        const h2o_state       & state,
        bool                    is_carried);

// Reads into the live copy of `state`, which was reset before. Skips a state of another owner, or of none, with a
// warning. Returns false if the state is damaged; the copy is useless then.
// end: where the sequence ends in the cache
bool h2o_state_read(
        llama_io_read_i       & io,
        const h2o_state_owner & owner,
        const h2o_store       & store,
        h2o_state             & state,
        llama_pos               end);
