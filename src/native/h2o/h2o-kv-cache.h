// llama_kv_cache_h2o: the plain KV cache, unchanged, plus the H2O state of every layer.
//
//   llama_kv_cache          K and V of all positions; nothing is ever evicted
//   h2o_layer_state [3]     per layer, on the layer's device: last memory set and last chunk scores, in buffers
//   h2o_state               the host's view of them
//   h2o_layer_intra         per layer, two-pass only: the intra attention of the call in progress
//
// init_batch decides, once per llama_decode call, whether the call is sparse. A sparse call gets a
// llama_kv_cache_h2o_context, which hands out one ubatch per graph and tells the graph builder its plan. llama_context
// reports the outcome with commit or rollback.

#pragma once

#include "h2o-state.h"

#include "llama-cparams.h"
#include "llama-kv-cache.h"

#include <map>
#include <utility>
#include <vector>

// device tensors of one buffer of one layer
struct h2o_layer_state {
    ggml_tensor * mem_pos;     // I32 [n_local + n_heavy, n_head_kv]
    ggml_tensor * mem_score;   // F32 [n_local + n_heavy, n_head_kv]
    ggml_tensor * chunk_score; // F32 [n_chunk,           n_head_kv]
};

// what phase 1 of the two-pass schedule leaves for phase 2: the online-softmax state of every token (m and l only ever enter
// the fusion as m + log l) and the scores of every chunk
struct h2o_layer_intra {
    ggml_tensor * o;     // F32 or F16 [d_v*n_head, n_batch]
    ggml_tensor * lse;   // F32 [n_head, n_batch]
    ggml_tensor * votes; // F32 [n_chunk, n_head_kv, n_chunks]
};

// tensors of one layer and chunk that the last graph was asked to keep for introspection
struct h2o_trace_node {
    int32_t       il;
    llama_pos     pos;
    int32_t       n_chunk;
    ggml_tensor * mem_pos;   // I32 [n_mem, n_head_kv], null if the chunk has no memory
    ggml_tensor * mem_score; // F32 [n_mem, n_head_kv], null likewise
    ggml_tensor * chunk_score;
    ggml_tensor * mass;      // F32 [pos + n_chunk, n_head_kv], null unless H2O_TRACE_MASS
};

class llama_kv_cache_h2o_context;

class llama_kv_cache_h2o : public llama_kv_cache {
public:
    llama_kv_cache_h2o(
            const llama_model   & model,
            const llama_hparams & hparams,
            const llama_cparams & cparams,
                      ggml_type   type_k,
                      ggml_type   type_v);

    //
    // llama_memory_i
    //

    llama_memory_context_ptr init_batch(
            llama_batch_allocr & balloc,
            uint32_t n_ubatch,
            bool embd_all) override;

    void clear(bool data) override;

    bool seq_rm  (llama_seq_id seq_id,                              llama_pos p0, llama_pos p1) override;
    void seq_cp  (llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) override;
    void seq_keep(llama_seq_id seq_id)                                                          override;
    void seq_add (llama_seq_id seq_id,                              llama_pos p0, llama_pos p1, llama_pos shift) override;
    void seq_div (llama_seq_id seq_id,                              llama_pos p0, llama_pos p1, int d) override;

    std::map<ggml_backend_buffer_type_t, size_t> memory_breakdown() const override;

    void state_write(llama_io_write_i & io, llama_seq_id seq_id = -1, llama_state_seq_flags flags = 0) const override;
    void state_read (llama_io_read_i  & io, llama_seq_id seq_id = -1, llama_state_seq_flags flags = 0) override;

    //
    // one decode call
    //

    // the outcome of the last init_batch
    const h2o_call & get_call() const { return call; }

    // the call succeeded: the state moves on
    void commit();

    // the call failed or was aborted: every sequence of its batch loses what it got and all that follows
    void rollback(const llama_batch & batch);

    //
    // graph building
    //

    // contexts for reserving: the first and the last sparse graph of a call of n_tokens tokens, which are its largest one of
    // each phase and the one with the tail
    std::vector<std::unique_ptr<llama_kv_cache_h2o_context>> init_reserve(uint32_t n_tokens);

    const h2o_layer_state & get_state(int32_t il, int32_t buf) const { return layers.at(il)[buf]; }
    const h2o_layer_intra & get_intra(int32_t il)              const { return intra.at(il); }

    // attention as GGML_OP_H2O, or as a graph of stock ops
    bool get_fused() const { return is_fused && !h2o_needs_composed(experiments); }

    const h2o_experiments & get_experiments() const { return experiments; }

    void set_experiments(const h2o_experiments & e) { experiments = e; }

    // chunks that one graph holds at most
    int32_t get_n_graph_chunks() const { return n_graph_chunks; }

    //
    // coverage and introspection
    //

    // from now on every call is dense, for this reason
    void refuse(h2o_reason reason) { refused = reason; }

    bool has_memory() const { return !state.empty(); }
    void reset_memory()     { state.reset(); }

    void            set_trace(h2o_trace_level level) { trace = level; }
    h2o_trace_level get_trace() const                { return trace; }

    // of the last sparse graph that was built, if its call is traced
    std::vector<h2o_trace_node> & get_trace_nodes() { return trace_nodes; }

    size_t size_state() const;
    size_t size_intra() const;
    size_t size_kv()    const;

private:
    const llama_cparams & cparams;

    const bool no_alloc; // measure only: the buffers are dummies
    const bool is_fused;

    const int32_t n_graph_chunks;

    h2o_reason refused = H2O_REASON_NONE;

    h2o_experiments experiments = h2o_experiments_default();

    h2o_state state;
    h2o_call  call = {};
    h2o_plan  last; // the plan of the last graph of the call in progress, if it is sparse

    h2o_trace_level trace = H2O_TRACE_OFF;
    std::vector<h2o_trace_node> trace_nodes;

    // by model layer id
    std::map<int32_t, std::vector<h2o_layer_state>> layers;
    std::map<int32_t, h2o_layer_intra>              intra;

    std::vector<std::pair<ggml_context_ptr, ggml_backend_buffer_ptr>> bufs;

    // the part of a plan that does not depend on the state
    h2o_plan new_plan(uint32_t n_tokens, llama_pos pos) const;

    // the graphs of a call that begins with the state `from`
    std::vector<h2o_plan> plan_call(const h2o_state & from, const h2o_plan & plan) const;

    // why the batch cannot take the sparse path
    h2o_reason refuse_batch(const llama_batch & batch, uint32_t n_tokens, bool embd_all) const;

    // cell i holds position i of sequence 0 alone for all i below pos, and no further cell is taken
    bool is_contiguous(llama_pos pos) const;

    void reset_with_warning(const char * why);
};

// one sparse call: a plan and a ubatch per graph. The graphs of phase 2 see tokens again and store no K and V.
class llama_kv_cache_h2o_context : public llama_kv_cache_context {
public:
    // a sparse call
    llama_kv_cache_h2o_context(
            llama_kv_cache_h2o * cache,
            std::vector<h2o_plan> plans,
            int32_t n_chunks_prev,
            llama_kv_cache::slot_info_vec_t sinfos,
            std::vector<llama_ubatch> ubatches);

    // a reservation
    llama_kv_cache_h2o_context(
            llama_kv_cache_h2o * cache,
            h2o_plan plan);

    bool next()  override;
    bool apply() override;

    const llama_ubatch & get_ubatch() const override;

    const h2o_plan & get_plan() const { return plans[i_plan]; }

    llama_kv_cache_h2o * const cache;

private:
    const std::vector<h2o_plan> plans;

    const int32_t n_chunks_prev = 0; // chunks of earlier calls, for the debug output

    size_t i_plan = 0;

    std::vector<llama_ubatch> ubatches;
};
