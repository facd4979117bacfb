// One llama_context with what belongs to it. Owned by the context's worker thread; the JavaScript thread only looks at
// what is said to be for it.

#pragma once

#include "checkpoint.h"
#include "model/model-load.h"
#include "runtime/compute-threads.h"
#include "runtime/failure.h"

#include "h2o.h"
#include "llama.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace addon {

class job;

// floats of t.mass, if there is one
size_t trace_n_mass(const h2o_trace & t);

// a copy of an h2o_trace that outlives the next call
struct trace_entry {
    explicit trace_entry(const h2o_trace & t);
    trace_entry(trace_entry &&) = default;

    h2o_trace          entry; // its pointers are into data
    std::vector<float> data;  // positions too: 4 bytes each
};

using trace_ptr = std::shared_ptr<std::vector<trace_entry>>;

struct context_state {
    context_state(model_ptr model, uint64_t fingerprint) : model(std::move(model)), fingerprint(fingerprint) {}
    ~context_state();

    context_state(const context_state &) = delete;
    context_state & operator=(const context_state &) = delete;

    const llama_vocab * vocab() const { return llama_model_get_vocab(model.get()); }

    // tokens of a sequence: one more than its last position
    int32_t position(llama_seq_id seq_id) const;

    // layers whose state says nothing of earlier positions, in a recurrent model or in a hybrid one
    bool is_recurrent() const;

    // the lowest position of a sequence, besides 0, from which on everything can be forgotten: a token there needs a whole window,
    // and the state of recurrent layers
    int32_t earliest(llama_seq_id seq_id) const;

    // a sequence cannot go back to `from`; position: of the one that asked for it
    failure gone(llama_seq_id seq_id, int32_t from, int32_t position) const;

    // throws failure, ERR_H2O_PROMPT_TOO_LONG, unless n more tokens fit behind a position
    void require_room(int32_t position, size_t n) const;

    // all that a sequence holds
    void clear(llama_seq_id seq_id) const;

    // Before a call of so many tokens. Recurrent layers: a call of one token is too short to keep what was before it
    void begin_call(llama_seq_id seq_id, size_t n_tokens);

    // After a call from `base` on failed: removes what it has left. Where that cannot be (recurrent layers, after a
    // call of one token) the sequence is cleared. A memory with sliding windows keeps the ubatches that ended, as
    // llama_decode leaves them: what they have pushed out of the windows is needed to go back; is_torn says that
    // llama_decode did not get to tidy up. Returns position()
    int32_t rollback(llama_seq_id seq_id, int32_t base, bool is_torn);

    // llama.cpp asks after every node that the CPU computed: counts it, and says whether the running job was aborted
    static bool on_node(void * self);

    model_ptr       model;
    uint64_t        fingerprint; // of the model as it was loaded, and of RoPE options that are not its own
    llama_context * ctx    = nullptr;
    llama_memory_t  memory = nullptr;
    compute_threads threads; // outlives ctx
    checkpoint      before;  // the call in progress

    model_adapters adapters;

    uint16_t n_streams = 0; // of the cache, where there are several; else 0

    bool causal     = true;  // attention is causal
    bool embeddings = false; // every token is an output

    double n_positions = INFINITY; // of model_state
    ggml_type type_k = GGML_TYPE_F16;
    ggml_type type_v = GGML_TYPE_F16;

    h2o_trace_level trace = H2O_TRACE_OFF;

    const job * running = nullptr;

    // JavaScript thread: what V8 was told about the context's memory
    int64_t external_bytes = 0;

    // JavaScript thread too: the sequence of the running decode call, nodes computed by it, and how many it is expected to have
    std::atomic<llama_seq_id> running_seq{-1};
    std::atomic<int64_t> n_nodes_done{0};
    std::atomic<int64_t> n_nodes_expected{0};

    // what earlier calls had, to expect from
    double n_nodes_per_ubatch = 0.0; // dense
    double n_nodes_per_chunk  = 0.0; // sparse
};

} // namespace addon
