#include "h2o-recurrent.h"

#include <algorithm>
#include <utility>

void h2o_recurrent_backup::take(llama_seq_id seq_id) {
    drop();

    if (recr.seq_pos_max(seq_id) < 0) {
        return;
    }
    recr.seq_cp(seq_id, seq_backup, -1, -1);

    this->seq_id = seq_id;
    rs_idx       = recr.rs_idx[seq_id];
}

bool h2o_recurrent_backup::restore(llama_seq_id seq_id) {
    if (seq_id != this->seq_id) {
        return false;
    }
    recr.seq_rm(seq_id, -1, -1);
    recr.seq_cp(seq_backup, seq_id, -1, -1);
    recr.set_rs_idx(seq_id, rs_idx);

    drop();
    return true;
}

void h2o_recurrent_backup::drop() {
    if (seq_id < 0) {
        return;
    }
    seq_id = -1;

    // as llama_memory_recurrent::seq_rm, which knows no such sequence
    const int32_t i = std::exchange(recr.cells[seq_backup].tail, -1);
    if (i < 0) {
        return;
    }
    llama_memory_recurrent::mem_cell & cell = recr.cells[i];

    cell.seq_id.erase(seq_backup);
    if (cell.is_empty()) {
        cell.pos = -1;
        cell.src = -1;
        recr.used -= 1;
        recr.head  = std::min<uint32_t>(recr.head, i);
    }
}
