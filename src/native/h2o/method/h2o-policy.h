// What a selection policy owes: how the memory of a chunk is chosen, what it learns from attention, and what it keeps
// beside K and V. Intra and inter attention, fusion, transaction, saving and coverage belong to no policy (README.md,
// "Policies", which also says what a new one takes).

#pragma once

#include "h2o-block.h"
#include "h2o-plan.h"

#include <memory>
#include <vector>

// heads, sizes and types of one layer
struct h2o_layer_shape {
    int64_t   n_head;
    int64_t   n_head_kv;
    int64_t   d_k;
    int64_t   d_v;
    ggml_type type_k;
    ggml_type type_v;
    int64_t   n_cells;
};

// a tensor that is kept on the layer's device; named h2o_<name>_l<layer>
struct h2o_tensor_spec {
    const char * name;
    ggml_type    type;
    int64_t      ne[3];
};

// of one layer, in the order of their specs
typedef std::vector<ggml_tensor *> h2o_tensors;

// the tensors of one layer for one graph, or of the layer whose keys and values it reads
struct h2o_kept {
    const h2o_tensors & src; // the copy that it reads
    const h2o_tensors & dst; // the copy that it writes
    const h2o_tensors & index;

    // null: the layer stores keys and values of its own. Else it reads, and keeps nothing: the sets of the one that
    // stores them, by chunk of the graph, null for a chunk without
    const std::vector<ggml_tensor *> * owner_sets;
};

// scores, for a trace; null where a policy has none
struct h2o_scores {
    ggml_tensor * set   = nullptr; // F32 [n_mem,   n_head_kv] of the chunk's memory set, after the chunk
    ggml_tensor * chunk = nullptr; // F32 [n_chunk, n_head_kv] of the chunk's own positions
};

// The memory of one layer while its graph is built, chunk after chunk.
class h2o_policy_layer {
public:
    virtual ~h2o_policy_layer() = default;

    // The set that chunk ic attends to, of plan.n_mem(ic) > 0 members, ascending per head.
    // q and intra: the chunk's queries and its intra attention, as h2o_block::inter takes them.
    virtual h2o_set build_set(int32_t ic, ggml_tensor * q, const h2o_attn_block & intra) = 0;

    // After the chunk's attention. Votes are null unless the policy wants them:
    // intra F32 [n_chunk, n_head_kv] of the chunk's own positions, inter F32 [n_mem, n_head_kv] of its set, null
    // without one
    virtual h2o_scores build_learn(int32_t ic, ggml_tensor * intra, ggml_tensor * inter) = 0;

    // after the last chunk of the graph: what the next graph or call inherits
    virtual void build_store() = 0;
};

class h2o_policy {
public:
    explicit h2o_policy(const h2o_policy_traits & traits) : traits(traits) {}
    virtual ~h2o_policy() = default;

    const h2o_policy_traits & traits;

    // nodes that it adds to a graph per chunk and layer, views included
    virtual int32_t n_nodes_per_chunk() const = 0;

    // What it keeps per layer. Graphs read one copy and write another, and only those of a call that succeeded count.
    virtual std::vector<h2o_tensor_spec> tensors(const h2o_layer_shape & shape) const = 0;

    // What it knows of the cells per layer: a function of K and V alone, so one copy is enough, whatever becomes of a call.
    virtual std::vector<h2o_tensor_spec> index(const h2o_layer_shape & shape) const = 0;

    // whether a device runs the ops that read and write it; null is the CPU
    virtual bool runs_index_on(ggml_backend_dev_t dev, const h2o_layer_shape & shape) const = 0;

    // l and plan outlive the result
    virtual std::unique_ptr<h2o_policy_layer> begin_layer(
            const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) const = 0;

    // what the host must know once chunk ic of the plan is done
    virtual h2o_carry carry_after(const h2o_plan & plan, int32_t ic) const = 0;

    // positions >= pos were removed from the cache; 0 < pos
    virtual void truncate(h2o_carry & carry, llama_pos pos) const = 0;

    // whether a call behind other positions has a memory of them
    virtual bool remembers(const h2o_carry & carry) const = 0;

    // as if a long prompt came before the call, so that every chunk has a memory set: for reservations
    virtual h2o_carry full_carry(const h2o_plan & call) const = 0;

    // Whether what a saved state says can be true, in a cache that ends at `end`. A set indexes the cache on the
    // device: wrong positions must not get there.
    virtual bool is_valid(const h2o_carry & carry, llama_pos end) const = 0;
    virtual bool is_valid(
            const h2o_carry   & carry,
            llama_pos           end,
            size_t              i_tensor,
            const ggml_tensor * t,
            const uint8_t     * data) const = 0;
};
