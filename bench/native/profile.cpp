#include "profile.h"

#ifdef BENCH_H2O
#include "ops/ggml-h2o.h"
#endif

#include <algorithm>
#include <cstring>

const char * node_kind_name(node_kind kind) {
    switch (kind) {
        case NODE_LINEAR:    return "linear";
        case NODE_INTRA:     return "intra";
        case NODE_INTER:     return "inter";
        case NODE_SELECTION: return "selection";
        case NODE_ATTENTION: return "attention";
        default:             return "other";
    }
}

static bool is_view(const ggml_tensor * t) {
    switch (t->op) {
        case GGML_OP_NONE:
        case GGML_OP_VIEW:
        case GGML_OP_RESHAPE:
        case GGML_OP_PERMUTE:
        case GGML_OP_TRANSPOSE: return true;
        default:                return false;
    }
}

static bool is_product_with_weights(const ggml_tensor * t) {
    if (t->op != GGML_OP_MUL_MAT && t->op != GGML_OP_MUL_MAT_ID) {
        return false;
    }
    const char * weight = strstr(t->src[0]->name, ".weight");
    return weight && strcmp(weight, ".weight") == 0;
}

// the attention of a layer begins behind the store of K and V and ends at the output projection
node_kind profiler::classify(const ggml_tensor * t) {
    if (is_view(t)) {
        return kinds.empty() ? NODE_OTHER : kinds.back();
    }
    if (is_product_with_weights(t)) {
        in_attention = false;
        return NODE_LINEAR;
    }
    if (t->op == GGML_OP_SET_ROWS) {
        in_attention = true;
        return NODE_OTHER;
    }
#ifdef BENCH_H2O
    if (t->op == GGML_OP_H2O) {
        in_attention = true;
        if (ggml_h2o_get_op(t) == GGML_H2O_OP_ATTN) {
            return ggml_h2o_get_attn_params(t)->causal ? NODE_INTRA : NODE_INTER;
        }
        return NODE_SELECTION;
    }
#endif
    return in_attention ? NODE_ATTENTION : NODE_OTHER;
}

void profiler::start_learning() {
    kinds.clear();
    in_attention = false;
    mode = LEARNING;
}

void profiler::start_measuring() {
    next     = 0;
    in_range = false;
    std::fill(ms, ms + NODE_KIND_COUNT, 0.0);
    mode = MEASURING;
}

bool profiler::stop() {
    mode = IDLE;
    return next == kinds.size();
}

bool profiler::on_node(ggml_tensor * t, bool ask, void * self) {
    profiler & p = *(profiler *) self;
    if (ask) {
        return p.ask_for(t);
    }
    p.end_range();
    return true;
}

// true: cut the graph behind this node
bool profiler::ask_for(const ggml_tensor * t) {
    if (mode == LEARNING) {
        kinds.push_back(classify(t));
        return false;
    }
    if (mode == IDLE || next >= kinds.size()) {
        next += mode == MEASURING; // not the nodes that were learnt
        return false;
    }
    if (!in_range) {
        in_range    = true;
        range_start = clock::now();
    }
    next++;
    return next == kinds.size() || kinds[next] != kinds[next - 1];
}

void profiler::end_range() {
    const std::chrono::duration<double, std::milli> time = clock::now() - range_start;
    ms[kinds[next - 1]] += time.count();
    in_range = false;
}
