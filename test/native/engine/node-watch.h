// Looks on while llama_decode computes, and aborts it where a test wants.

#pragma once

#include "test-context.h"

#include <functional>

// asked before every node that the CPU computes
struct node_watch {
    int64_t n_nodes  = 0;
    int64_t abort_at = -1;

    std::function<void(int64_t)> on_node;

    static bool ask(void * data) {
        node_watch & watch = *(node_watch *) data;

        const int64_t i = watch.n_nodes++;
        if (watch.on_node) {
            watch.on_node(i);
        }
        return i == watch.abort_at;
    }
};

// the status of one call that continues the sequence, watched
inline int try_decode(test_context & ctx, const std::vector<llama_token> & tokens, node_watch & watch) {
    llama_batch batch = llama_batch_get_one(const_cast<llama_token *>(tokens.data()), tokens.size());

    llama_set_abort_callback(ctx.get(), node_watch::ask, &watch);
    const int status = llama_decode(ctx.get(), batch);
    llama_set_abort_callback(ctx.get(), nullptr, nullptr);
    return status;
}
