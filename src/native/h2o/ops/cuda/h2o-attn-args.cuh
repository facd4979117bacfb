// What the kernels of GGML_H2O_OP_ATTN are launched with; see ggml_h2o_attn for shapes and meaning.

#pragma once

#include "h2o-kv.cuh"
#include "h2o-top.cuh"

// A row is a query and a head of the group: row = query*n_group + head of the group. Heads that share their keys are a
// group: those of a KV head, or each for itself where every query head has a set. A block of queries that has a set of
// its own is a chunk, too: all of them read the same cells, and the last one may be shorter.
struct h2o_attn_args {
    const float * q;   // [d, n_head*n_group, n_queries, n_chunks], as o and o_prev

    h2o_kv k;
    h2o_kv v;

    const int32_t * set;              // null: key i is cell i
    int64_t         set_stride;       // from head to head
    int64_t         set_stride_chunk; // from chunk to chunk

    // of estimates, whose keys are means of pages; a set is then what is left of them for a block of queries
    const int32_t * n_left;   // [n_head, n_chunks] pages of a set
    const float   * log_left; // beside the sets, to be added to logits, in units of log(2); -inf behind the last one up to a whole tile

    const int32_t * order; // [n_queries, n_head]: which query is where, for chunks that are blocks; null: neighbours

    const float * o_prev;
    const float * lse_prev;

    float * o;
    float * lse;   // [n_head*n_group, n_queries, n_chunks], as lse_prev
    float * votes; // [n_keys, n_head, n_chunks]; null if nobody wants them, and then there is no second visit

    // of a second visit
    half  * q_scaled;    // [d, n_rows, n_head, n_chunks]: what the first one leaves for it; tensor-core path only
    float * votes_split; // [n_keys, n_head, n_chunks, n_split]: partial votes, to be summed in order; null if n_split = 1

    int n_rows;     // of a head and chunk
    int n_rows_all; // of a head
    int n_keys;
    int n_near;     // keys before the first query; causal only
    int n_head;     // that share their keys among n_group query heads
    int n_per_kv;   // of these to a KV head
    int n_chunks;
    int n_group;
    int n_split;

    bool  causal;
    float scale;
};

// the rows of one head and chunk: where they are in q, o and lse
struct h2o_rows {
    const int32_t * order; // of these rows, each a query; null: neighbours

    int64_t first;
    int     n_group;
    int     n_head_all;

    // order: that of the arguments, or null where none can be
    __device__ __forceinline__ h2o_rows(const h2o_attn_args & args, const int32_t * order, int head, int chunk) :
        order(order ? order + (int64_t) head*args.n_rows_all + chunk*args.n_rows : nullptr),
        first((order ? 0 : (int64_t) chunk*args.n_rows*args.n_head) + head*args.n_group),
        n_group(args.n_group), n_head_all(args.n_head*args.n_group) {}

    // of a row that there is
    __device__ __forceinline__ int64_t at(int row) const {
        return first + (int64_t) (order ? order[row] : row/n_group)*n_head_all + row%n_group;
    }
};

// the cells of the keys of a head and chunk; null: key i is cell i
static __device__ __forceinline__ const int32_t * h2o_set_at(const h2o_attn_args & args, int head, int chunk) {
    return args.set ? args.set + head*args.set_stride + chunk*args.set_stride_chunk : nullptr;
}

// rows of a head and this chunk
static __device__ __forceinline__ int h2o_n_rows(const h2o_attn_args & args, int chunk) {
    return min(args.n_rows, args.n_rows_all - chunk*args.n_rows);
}

// keys of a head and chunk: what equals the last member of a set counts once (ggml_h2o_n_members)
static __device__ __forceinline__ int h2o_n_keys(const h2o_attn_args & args, int head, int chunk) {
    const int32_t * set = h2o_set_at(args, head, chunk);

    return set ? h2o_lower_bound(set, args.n_keys - 1, set[args.n_keys - 1]) + 1 : args.n_keys;
}

// of n_keys those that rows before row_end see
static __device__ __forceinline__ int h2o_n_visible(const h2o_attn_args & args, int n_keys, int row_end) {
    return args.causal ? min(n_keys, args.n_near + (row_end - 1)/args.n_group + 1) : n_keys;
}

// the first row that sees this key
static __host__ __device__ __forceinline__ int h2o_first_row(const h2o_attn_args & args, int key) {
    return args.causal ? max(0, key - args.n_near)*args.n_group : 0;
}

// beside the set of a head and chunk
static __device__ __forceinline__ const float * h2o_log_left_at(const h2o_attn_args & args, int head, int chunk) {
    return args.log_left + head*args.set_stride + chunk*args.set_stride_chunk;
}

// the share of this block's keys in the output of all keys together
static __device__ __forceinline__ float h2o_share(float lse, float lse_prev) {
    return 1.0f/(1.0f + expf(lse_prev - lse));
}

// of both together; NaN stays
static __device__ __forceinline__ float h2o_joint_lse(float lse, float lse_prev) {
    const float max = fmaxf(lse, lse_prev);

    return max + logf(expf(lse - max) + expf(lse_prev - max));
}

// The state of rows for which nothing is left becomes the output, of d channels the n from first on.
static __device__ __forceinline__ void h2o_keep_state(
        const h2o_attn_args & args, const h2o_rows & rows, int n_rows, int d, int first, int n, int tid, int n_threads) {
    for (int i = tid; i < n_rows*n; i += n_threads) {
        const int64_t at = rows.at(i/n)*d + first + i%n;

        args.o[at] = args.o_prev[at];
    }
    for (int i = tid; i < n_rows && first == 0; i += n_threads) {
        args.lse[rows.at(i)] = args.lse_prev[rows.at(i)];
    }
}
