// How llama-server fills a batch with the prompts of its slots, behind the rows of those that decode.
//
// A prompt goes in whole chunks, counted from where it begins: what it attends to depends on no other slot. Its dense tail
// gets batches of its own. Part of llama-common.

#pragma once

#include "h2o.h"

#include <cstdint>

class h2o_batch_parts {
public:
    // of one batch, which has n_rows tokens already
    h2o_batch_parts(llama_context * ctx, const h2o_params & params, int n_batch, int n_rows);

    // Asked before each token of a prompt is added: shall the prompt's part of this batch end here? n_read: tokens of the
    // prompt that were added to this batch and others, n_left: those to come. The first time, the prompt is announced.
    // Always false where no prompt is sparse
    bool end(llama_seq_id seq_id, int n_read, int n_left);

private:
    llama_context * ctx;

    const int n_chunk;
    const int n_tail;

    int n_room;      // tokens that fit into the batch
    int n_added = 0; // tokens of prompts in the batch

    llama_seq_id seq_id = -1; // whose part it is
    int          n_part = 0;  // tokens in it
};
