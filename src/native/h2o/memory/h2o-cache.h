// What a KV cache needs to carry H2O, whatever family of upstream's memories it belongs to: the policy, the store, the
// states of its sequences and the call in progress. An adapter of a family derives from upstream's class and from this one,
// and answers for it with one function; the hooks know this class and h2o_sparse_context, and no adapter.

#pragma once

#include "h2o-call.h"
#include "h2o-engine.h"
#include "h2o-state.h"

#include "llama-batch.h"
#include "llama-memory.h"

#include <array>

struct llama_cparams;
struct llama_model;

class h2o_cache;

// One sparse call on its way through llama_context: a step and a ubatch per graph. Part of the memory context of a
// family.
class h2o_sparse_context : public h2o_sparse_graph {
public:
    // a call
    h2o_sparse_context(h2o_cache & cache, std::vector<h2o_step> steps, std::vector<llama_ubatch> ubatches);

    // a reservation
    h2o_sparse_context(h2o_cache & cache, const h2o_plan & plan);

    // the context of the cache that attention reads
    virtual const llama_kv_cache_context & get_attn() const = 0;

    h2o_engine & get_engine() const override;
    uint32_t     get_n_kv()   const override;

    const h2o_step & get_step() const { return steps[i_step]; }
    const h2o_plan * get_plan() const override { return steps[i_step].plan ? &*steps[i_step].plan : nullptr; }

protected:
    // before the graph runs
    void begin_graph() const;

    // after it; false if it was the last one
    bool next_graph();

    const llama_ubatch & get_step_ubatch() const { return ubatches[i_step]; }

private:
    h2o_cache & cache;

    const std::vector<h2o_step>     steps;
    const std::vector<llama_ubatch> ubatches;

    size_t i_step = 0;
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

    // Decides which sequences of the call are sparse: the steps of a call with at least one, or none
    std::vector<h2o_step> begin_call(const llama_batch & batch, uint32_t n_tokens, bool embd_all);

    // the call is dense after all
    void refuse_call(h2o_reason reason);

    // a graph of the call succeeded
    void graph_done(const h2o_plan & plan);
    void dense_graph_done();

    // the call ended: the states move on to where its last graphs that succeeded left them
    virtual void commit();

    // A graph of the call failed: its positions go, those of a sequence from pos on. What cannot go back to where the
    // call began is cleared
    virtual void call_failed(llama_seq_id seq_id, llama_pos pos) = 0;

    // Whether a call that fails leaves its graphs that succeeded behind, and not nothing: going back to its begin takes
    // what they have overwritten.
    virtual bool keeps_graphs() const { return false; }

    // what is reserved is for no call
    void forget_call() { call = {}; }

    // the outcome of the last begin_call
    const h2o_call             & get_call() const { return call; }
    const std::vector<h2o_run> & get_runs() const { return runs; }

    // the next n_tokens tokens of a sequence are one prompt: calls with parts of it are sparse, however short
    void expect(llama_seq_id seq_id, uint32_t n_tokens);

    //
    // edits of the cache, after they were made
    //

    void clear();
    void removed(llama_seq_id seq_id, llama_pos p0, llama_pos p1, const std::vector<llama_pos> & ends); // ends: before the edit
    void copied (llama_seq_id seq_id_src, llama_seq_id seq_id_dst);
    void kept   (llama_seq_id seq_id);
    void changed(llama_seq_id seq_id, const char * why); // in a way that the state cannot follow

    // where the sequences end in the cache
    std::vector<llama_pos> ends() const;

    void write(llama_io_write_i & io, llama_seq_id seq_id) const;

    // false: the state is damaged
    bool read(llama_io_read_i & io, llama_seq_id seq_id);

    //
    // graph building
    //

    // the first and the last sparse graph of a call of n_tokens tokens at the end of the cache: its largest one of each
    // phase, and the one with the tail
    std::vector<h2o_plan> reserve_plans(uint32_t n_tokens) const;

    // of a sequence that may be another than the state of its stream speaks of
    h2o_state get_state(llama_seq_id seq_id) const;

    // chunks of the sparse path, since the last reset of the stream's state
    int32_t get_n_chunks(int32_t stream) const { return states[stream].n_chunks; }

    // chunks that one graph holds at most
    int32_t get_n_graph_chunks() const { return n_graph_chunks; }

    // forgets what the policy keeps of a sequence, or of all (-1), and nothing of K and V
    void reset_states(llama_seq_id seq_id);

    // keys that a query head reads as it decodes, from the next call on; 0: all; or H2O_AUTO
    void     set_decode(uint32_t n) { n_decode = n; }
    uint32_t get_decode() const     { return n_decode; }

    // why it always is 0, or H2O_REASON_NONE
    h2o_reason get_decode_reason() const;

    // the index of signs that the call in progress reads, and the pages that it adds to it: [begin, end)
    int32_t                signs_stream() const;
    std::array<int32_t, 2> signs_range() const;

    // from now on every call is dense, for this reason
    void refuse(h2o_reason reason) { refused = reason; n_decode = 0; }

    h2o_engine engine;

private:
    const llama_cparams  & cparams;
    const llama_kv_cache & attn;

    const bool    has_exact;
    const int32_t n_graph_chunks;

    // One for each stream of the cache. Where all sequences share one stream, cells that have several names keep their keys
    // while one of them is left, so the state goes with the cells to the next sequence that is sparse (take_state).
    std::vector<h2o_state> states;

    std::vector<llama_pos> expected; // by sequence: where the prompt ends that is expected

    uint32_t   n_decode;
    h2o_reason refused = H2O_REASON_NONE;

    // the call in progress
    h2o_call              call = {};
    std::vector<h2o_run>  runs;
    std::vector<h2o_plan> last; // by stream: of the last graph that succeeded; without tokens if there is none

    // as in llama_kv_cache, those that it has no stream for included
    int32_t stream_of(llama_seq_id seq_id) const { return (size_t) seq_id < states.size() ? seq_id : 0; }

    // the state of the run's stream, for the run's sequence, whose cells are those of its positions
    h2o_state & take_state(const h2o_run & run);

    // which sequences of the call in progress are sparse
    void refuse_runs();

    // of a dense call; decode_reason: why it cannot be sparse decoding
    h2o_call dense_call(h2o_reason decode_reason) const;

    // that a query head chooses if the call in progress is sparse decoding
    uint32_t decode_keys() const;

    // the part of a plan that does not depend on the state
    h2o_plan new_plan(uint32_t n_tokens, llama_pos pos) const;
};
