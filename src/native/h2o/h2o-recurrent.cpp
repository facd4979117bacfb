#include "h2o-recurrent.h"

void h2o_recurrent_backup::take() {
    drop();

    if (recr.seq_pos_max(0) < 0) {
        return;
    }
    recr.seq_cp(0, seq_backup, -1, -1);

    rs_idx   = recr.rs_idx[0];
    is_taken = true;
}

bool h2o_recurrent_backup::restore() {
    if (!is_taken) {
        return false;
    }
    recr.seq_rm(0, -1, -1);
    recr.seq_cp(seq_backup, 0, -1, -1);
    recr.set_rs_idx(0, rs_idx);

    drop();
    return true;
}

void h2o_recurrent_backup::drop() {
    if (is_taken) {
        recr.seq_keep(0);
    }
    is_taken = false;
}
