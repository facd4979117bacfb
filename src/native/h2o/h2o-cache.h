// What a KV cache needs to carry H2O, whatever family of upstream's memories it belongs to: the policy, the store, the
// state and the call in progress. An adapter of a family derives from upstream's class and from this one, and answers
// for it with one function; the hooks know this class and h2o_sparse_context, and no adapter.

#pragma once

#include "h2o-policy.h"
#include "h2o-state.h"
#include "h2o-store.h"
#include "h2o-trace.h"

#include "llama-batch.h"
#include "llama-memory.h"

#include <array>

struct llama_cparams;
struct llama_model;

class llama_kv_cache;
class llama_kv_cache_context;
class llama_kv_cells;

class h2o_cache;

// One sparse call on its way through llama_context: a plan and a ubatch per graph. Part of the memory context of a
// family.
class h2o_sparse_context {
public:
    // a call
    h2o_sparse_context(h2o_cache & cache, std::vector<h2o_plan> plans, std::vector<llama_ubatch> ubatches);

    // a reservation
    h2o_sparse_context(h2o_cache & cache, const h2o_plan & plan);

    virtual ~h2o_sparse_context() = default;

    // the context of the cache that attention reads
    virtual const llama_kv_cache_context & get_attn() const = 0;

    h2o_cache      & get_cache() const { return cache; }
    const h2o_plan & get_plan()  const { return plans[i_plan]; }

protected:
    // before the graph runs
    void begin_graph() const;

    // after it; false if it was the last one
    bool next_graph();

    const llama_ubatch & get_plan_ubatch() const { return ubatches[i_plan]; }

private:
    h2o_cache & cache;

    const std::vector<h2o_plan>     plans;
    const std::vector<llama_ubatch> ubatches;

    const int32_t n_chunks_prev; // chunks of earlier calls, for the debug output

    size_t i_plan = 0;
};

class h2o_cache {
public:
    // attn: K and V of the layers that H2O serves
    h2o_cache(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn);

    virtual ~h2o_cache() = default;

    // a memory context for reserving the graph of this plan
    virtual llama_memory_context_ptr new_reserve_context(const h2o_plan & plan) = 0;

    //
    // one decode call
    //

    // Decides whether the call is sparse: the plans of its graphs, or none. cells: of the cache that attention reads
    std::vector<h2o_plan> begin_call(
            const llama_batch & batch, uint32_t n_tokens, bool embd_all, const llama_kv_cells & cells);

    // the call is dense after all
    void refuse_call(h2o_reason reason);

    // a graph of the call succeeded
    void graph_done(const h2o_plan & plan);
    void dense_graph_done();

    // the call ended: the state moves on to where its last graph that succeeded left it
    virtual void commit();

    // A graph of the call failed: its positions go, those of a sequence from pos on. What cannot go back to where the
    // call began is cleared
    virtual void call_failed(llama_seq_id seq_id, llama_pos pos) = 0;

    // Whether a call that fails leaves its graphs that succeeded behind, and not nothing: going back to its begin takes
    // what they have overwritten.
    virtual bool keeps_graphs() const { return false; }

    // the outcome of the last begin_call
    const h2o_call & get_call() const { return call; }

    //
    // edits of the cache, after they were made
    //

    void clear();
    void removed(llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos pos_max); // pos_max: before the edit
    void kept   (llama_seq_id seq_id);
    void changed(const char * why); // in a way that the state cannot follow

    void write(llama_io_write_i & io, llama_seq_id seq_id) const;

    // false: the state is damaged. pos_max: of sequence 0
    bool read(llama_io_read_i & io, llama_seq_id seq_id, llama_pos pos_max);

    //
    // graph building
    //

    // the first and the last sparse graph of a call of n_tokens tokens at the end of the cache: its largest one of each
    // phase, and the one with the tail
    std::vector<h2o_plan> reserve_plans(uint32_t n_tokens) const;

    const h2o_policy & get_policy() const { return *policy; }
    const h2o_store  & get_store()  const { return store; }
    const h2o_state  & get_state()  const { return state; }

    // attention as GGML_OP_H2O, or as a graph of stock ops
    bool get_fused() const { return is_fused; }

    // chunks that one graph holds at most
    int32_t get_n_graph_chunks() const { return n_graph_chunks; }

    // forgets what the policy keeps, and nothing of K and V
    void reset_state() { state.reset(); }

    // keys that a query head reads as it decodes, from the next call on; 0: all
    void     set_decode(uint32_t n) { n_decode = n; }
    uint32_t get_decode() const     { return n_decode; }

    // why it always is 0, or H2O_REASON_NONE
    h2o_reason get_decode_reason() const;

    // pages that the call in progress adds to the index of signs: [begin, end)
    std::array<int32_t, 2> signs_range() const;

    // from now on every call is dense, for this reason
    void refuse(h2o_reason reason) { refused = reason; n_decode = 0; }

    h2o_trace_log trace;

private:
    const llama_cparams & cparams;

    const bool    is_fused;
    const bool    has_exact;
    const int32_t n_graph_chunks;

    const std::unique_ptr<h2o_policy> policy;
    const h2o_store                   store;

    h2o_state  state;
    uint32_t   n_decode;
    h2o_reason refused = H2O_REASON_NONE;

    h2o_call call = {};
    h2o_plan last; // of the last graph of the call in progress that succeeded; without tokens if there is none

    // of a dense call; decode_reason: why it cannot be sparse decoding
    h2o_call dense_call(int32_t n_tokens, llama_pos pos, h2o_reason reason, h2o_reason decode_reason) const;

    // the part of a plan that does not depend on the state
    h2o_plan new_plan(uint32_t n_tokens, llama_pos pos) const;
};
