#include "h2o-batch-parts.h"

#include <algorithm>

// 0: no prompt is sparse
static int h2o_sparse_chunk(const llama_context * ctx) {
    const h2o_info info = h2o_get_info(ctx);

    return info.reason == H2O_REASON_NONE ? info.n_chunk : 0;
}

h2o_batch_parts::h2o_batch_parts(llama_context * ctx, const h2o_params & params, int n_batch, int n_rows) :
    ctx(ctx),
    n_chunk(h2o_sparse_chunk(ctx)),
    n_tail(h2o_resolve_params(params, 0, 1).n_dense_tail),
    n_room(n_batch - n_rows) {
}

bool h2o_batch_parts::end(llama_seq_id seq_id, int n_read, int n_left) {
    if (n_chunk == 0) {
        return false;
    }
    if (this->seq_id != seq_id) {
        this->seq_id = seq_id;
        n_part       = 0;
    }
    const int n_sparse = n_left - n_tail; // of the tokens to come

    if (n_read == 0) {
        h2o_expect(ctx, seq_id, std::max(0, n_sparse));
    }
    const bool is_chunk_begin = n_part % n_chunk == 0;
    const bool has_room       = n_room >= std::min(n_chunk, n_sparse);

    const bool ends =
        n_read + n_left <= n_chunk ? false                            // one chunk, which is dense
        : n_sparse > 0 ? is_chunk_begin && !has_room && n_added > 0   // the next batch has more, unless it is full of rows
        : n_sparse == 0 ? n_part > 0                                  // the tail begins
        : n_part >= n_chunk;                                          // a longer part would be sparse
    if (!ends) {
        n_part  += 1;
        n_added += 1;
        n_room  -= 1;
    }
    return ends;
}
