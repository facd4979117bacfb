// What recurrent layers held of a sequence before a call. Their state holds no positions to go back to, so a failed call
// needs it.
//
// Upstream lets a sequence go on in a cell of its own where another one shares the old cell, and the graph that moves a
// state on reads the one cell and writes the other. So a second name for the old cell keeps it, and costs no copy: it
// takes one cell more than sequences, and nothing else.

#pragma once

#include "llama-memory-recurrent.h"

class h2o_recurrent_backup {
public:
    // cells that it needs beside those of upstream
    static constexpr uint32_t n_cells = 1;

    const llama_seq_id seq_backup; // the first id that is no sequence's

    // recr: has sequences [0, n_seq_max), and n_cells cells more
    h2o_recurrent_backup(llama_memory_recurrent & recr, uint32_t n_seq_max) : seq_backup(n_seq_max), recr(recr) {}

    // before a call: what the sequence holds. Nothing, if it is empty
    void take(llama_seq_id seq_id);

    // takes the sequence back to it; false if there is none of it
    bool restore(llama_seq_id seq_id);

    // the call has succeeded: the cell is free again
    void drop();

private:
    llama_memory_recurrent & recr;

    llama_seq_id seq_id = -1; // of what is kept
    uint32_t     rs_idx =  0; // the rollback of upstream that was pending
};
