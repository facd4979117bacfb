// What recurrent layers held before a call. Their state holds no positions to go back to, so a failed call needs it.
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

    // recr: has one sequence, 0, and n_cells cells more
    explicit h2o_recurrent_backup(llama_memory_recurrent & recr) : recr(recr) {}

    // before a call: what sequence 0 holds. Nothing, if it is empty
    void take();

    // takes sequence 0 back to it; false if there is none
    bool restore();

    // the call has succeeded: the cell is free again
    void drop();

private:
    static constexpr llama_seq_id seq_backup = 1;

    llama_memory_recurrent & recr;

    bool     is_taken = false;
    uint32_t rs_idx   = 0; // the rollback of upstream that was pending
};
