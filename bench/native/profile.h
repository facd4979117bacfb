// Where the time of a prefill goes, by the kind of work, without timing every node alone.
//
// llama.cpp's eval callback can cut a graph after any node; what lies between two cuts is
// computed as ever. So the first prefill only learns the order of the nodes, and the second
// one is cut where the kind of work changes and nowhere else: some dozen cuts per layer and
// graph. What the cuts cost shows in the second prefill's time against the first's.

#pragma once

#include "ggml.h"

#include <chrono>
#include <cstddef>
#include <vector>

enum node_kind {
    NODE_LINEAR,    // products with weights
    NODE_INTRA,     // GGML_OP_H2O: a chunk over itself
    NODE_INTER,     // GGML_OP_H2O: a chunk over its memory, fusion included
    NODE_SELECTION, // GGML_OP_H2O: the memory set of a chunk
    NODE_ATTENTION, // everything else between the store of K and V and the output projection; in stock all of it
    NODE_OTHER,     // norms, activations, rope, stores, copies
    NODE_KIND_COUNT,
};

const char * node_kind_name(node_kind kind);

class profiler {
public:
    // for llama_context_params::cb_eval; cb_eval_user_data is the profiler
    static bool on_node(ggml_tensor * t, bool ask, void * self);

    void start_learning();
    void start_measuring();

    // true if the measured prefill had the nodes that were learnt; the times are of use only then
    bool stop();

    double get_ms(node_kind kind) const { return ms[kind]; }

private:
    using clock = std::chrono::steady_clock;

    enum { IDLE, LEARNING, MEASURING } mode = IDLE;

    node_kind classify(const ggml_tensor * t);

    bool   ask_for(const ggml_tensor * t);
    void   end_range();

    std::vector<node_kind> kinds;             // of all nodes of a prefill, in order
    size_t                 next         = 0;  // node asked for next
    bool                   in_attention = false;
    bool                   in_range     = false;
    clock::time_point      range_start;

    double ms[NODE_KIND_COUNT] = {};
};
