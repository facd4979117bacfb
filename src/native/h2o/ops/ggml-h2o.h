// GGML_OP_H2O: the steps of H2O that stock ggml ops cannot express, or not in one go, as sub-ops of one op value.
//
// The sub-op and its parameters travel in op_params. Prototypes for graph builders; the CPU kernels are in ops/cpu/.
// A backend that does not implement a sub-op says so in supports_op, and the scheduler runs it on the CPU.

#pragma once

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ggml_h2o_op {
    GGML_H2O_OP_SELECT = 0,
    GGML_H2O_OP_LOOKUP,
    GGML_H2O_OP_ATTN,
    GGML_H2O_OP_PAGES,
    GGML_H2O_OP_ORDER,
    GGML_H2O_OP_QUERY,
    GGML_H2O_OP_ESTIMATE,
    GGML_H2O_OP_DECODE,
    GGML_H2O_OP_SIGNS,

    GGML_H2O_OP_COUNT,
};

// of the policy `query`
#define GGML_H2O_BLOCK 64 // queries of a block: those of a head share a memory set
#define GGML_H2O_PAGE  64 // keys of a page

// tokens of a call that GGML_H2O_OP_DECODE takes, and of one that it takes sparsely: those of longer calls share the reading
// of a key, which pays as much
#define GGML_H2O_DECODE_MAX        4096
#define GGML_H2O_DECODE_SPARSE_MAX 8

// the last positions that sparse decoding always reads
#define GGML_H2O_DECODE_LOCAL 256

// The tracked positions that selection may choose from: the last memory set and the last chunk of the sparse path.
// Their scores are the sources of the op:
//   mem_pos     I32 [>= n_mem,   n_head_kv] ascending per head
//   mem_score   F32 [>= n_mem,   n_head_kv]
//   chunk_score F32 [>= n_chunk, n_head_kv]
struct ggml_h2o_tracked {
    int32_t n_mem;     // members of the memory set
    int32_t mem_end;   // members at or past this position were removed from the cache and do not count
    int32_t chunk_pos; // first position of the chunk, past every member
    int32_t n_chunk;   // positions of the chunk
};

// The memory set of a chunk that begins at position pos (README.md, rule 3):
// Local is the last n_local positions before pos, Heavy the n_heavy tracked positions before Local with the highest
// score, ties to the lower position, NaN as -inf, filled up with the lowest positions that are left.
// -> I32 [min(pos, n_local + n_heavy), n_head_kv] ascending per head
GGML_API struct ggml_tensor * ggml_h2o_select(
        struct ggml_context   * ctx,
        struct ggml_tensor    * mem_pos,
        struct ggml_tensor    * mem_score,
        struct ggml_tensor    * chunk_score,
        struct ggml_h2o_tracked tracked,
        int32_t                 pos,
        int32_t                 n_local,
        int32_t                 n_heavy);

// The scores of the positions of a memory set; 0 for a position that is not tracked.
// set I32 [n, n_head_kv] -> F32 [n, n_head_kv]
GGML_API struct ggml_tensor * ggml_h2o_lookup(
        struct ggml_context   * ctx,
        struct ggml_tensor    * set,
        struct ggml_tensor    * mem_pos,
        struct ggml_tensor    * mem_score,
        struct ggml_tensor    * chunk_score,
        struct ggml_h2o_tracked tracked);

// Attention of a block of queries over a block of keys, fused: one visit of the logits gives the output, the row
// statistics and the column sums, and no logits are ever stored (README.md, rules 1, 2, 4, 5, and with a previous state
// rule 6).
//   q        F32 [d_k, n_head, n_queries, n_chunks] contiguous; the heads of a KV head's group are neighbours
//   k        any [d_k, n_keys, n_head_kv, n_chunks]
//   v        any [d_v, n_keys, n_head_kv, n_chunks], or with v_trans [n_keys, d_v, n_head_kv, n_chunks] and no
//            quantised type
//   set      I32 [n_mem, n_head_kv], or [n_mem, n_head, n_sets], or null: the keys are rows set[.] of k and v; n_chunks = 1
//            then. One set for a KV head's group and all queries, or one for each query head and block of
//            GGML_H2O_BLOCK queries, and no votes. It ascends; one of a block may end with its last member again and
//            again, which count once
//   order    I32 [n_queries, n_head] as ggml_h2o_order returns it, or null: blocks are cut from it. Wants sets of blocks
//   o, lse   F32 [d_v, n_head, n_queries, n_chunks] and [n_head, n_queries, n_chunks], contiguous: the state of the
//            same queries over other keys, or both null. The output is then that of all keys together, while lse and
//            votes are of this block alone
// causal: the queries are the last of the keys, and query i sees keys j <= i + n_keys - n_queries; else all of them
// votes:  whether to sum them
// -> F32, one after the other: o and lse as above, with votes [n_keys, n_head_kv, n_chunks]
GGML_API struct ggml_tensor * ggml_h2o_attn(
        struct ggml_context * ctx,
        struct ggml_tensor  * q,
        struct ggml_tensor  * k,
        struct ggml_tensor  * v,
        struct ggml_tensor  * set,
        struct ggml_tensor  * order,
        struct ggml_tensor  * o,
        struct ggml_tensor  * lse,
        bool                  v_trans,
        bool                  causal,
        bool                  votes,
        float                 scale);

//
// The policy `query` (README.md, "query"): an index, a function of K and V alone, the order of a chunk's queries, the sets that
// they ask for, and an estimate of what these leave out.
//

// the means of pages [begin, end), in place
//   kv    any [d, n_cells, n_head_kv], keys or values, cell i holds position i; or with trans [n_cells, d, n_head_kv] and no
//         quantised type
//   pages F32 [d, n_pages, n_head_kv]
// -> a view of pages
GGML_API struct ggml_tensor * ggml_h2o_pages(
        struct ggml_context * ctx,
        struct ggml_tensor  * kv,
        struct ggml_tensor  * pages,
        bool                  trans,
        int32_t               begin,
        int32_t               end);

// The queries of a chunk, those that are alike side by side: what each block of GGML_H2O_BLOCK is cut from (README.md,
// "Order"). By integers, so that every backend cuts the same blocks.
//   q F32 [d_k, n_head, n_queries] contiguous
// -> I32 [n_queries, n_head]: of each head, which query is where. Within a block they ascend
GGML_API struct ggml_tensor * ggml_h2o_order(
        struct ggml_context * ctx,
        struct ggml_tensor  * q);

// The memory sets of a chunk that begins at position pos, one for each query head and block of its queries, of the
// candidates before Local: all cells [0, pos - min(n_local, pos))
//   q     F32 [d_k, n_head, n_queries] contiguous
//   order I32 [n_queries, n_head] as ggml_h2o_order returns it, or null: blocks are of neighbours
//   lse   F32 [n_head, n_queries] contiguous: of the same queries over Local and their own chunk
//   pages: complete up to pos
// -> I32 [min(n_heavy, candidates), n_head, n_sets], ascending per head and set; where a set has fewer members, its last
//    one stands behind them again (ggml_h2o_n_members)
GGML_API struct ggml_tensor * ggml_h2o_query(
        struct ggml_context * ctx,
        struct ggml_tensor  * q,
        struct ggml_tensor  * order,
        struct ggml_tensor  * lse,
        struct ggml_tensor  * k,
        struct ggml_tensor  * pages,
        int32_t               pos,
        int32_t               n_local,
        int32_t               n_heavy,
        float                 scale);

// Attention over what sets leave out, each page as one key (README.md, "Estimates"), merged with a state of the same queries
// over other keys. Of n_cand candidates the whole pages count, but for the first. The logit of a page is that of its mean key
// and the log of how many of its keys are in no set of the query's block; one with none left does not count.
//   q          F32 [d_k, n_head, n_queries] contiguous
//   set, order as ggml_h2o_query and ggml_h2o_order return them; order null: blocks are of neighbours
//   keys       F32 [d_k, n_pages, n_head_kv] contiguous, the mean keys of pages
//   values     F32 [d_v, n_pages, n_head_kv] contiguous, their mean values
//   o, lse     F32 [d_v, n_head, n_queries] and [n_head, n_queries], contiguous
// -> F32, one after the other: o and lse of all keys together
GGML_API struct ggml_tensor * ggml_h2o_estimate(
        struct ggml_context * ctx,
        struct ggml_tensor  * q,
        struct ggml_tensor  * keys,
        struct ggml_tensor  * values,
        struct ggml_tensor  * set,
        struct ggml_tensor  * order,
        struct ggml_tensor  * o,
        struct ggml_tensor  * lse,
        int32_t               n_cand,
        float                 scale);

// members of a set of `query`, which has room for n: it ends with its last one, again and again
static inline int64_t ggml_h2o_n_members(const int32_t * set, int64_t n) {
    int64_t begin = 0;
    int64_t end   = n - 1;
    while (begin < end) {
        const int64_t mid = begin + (end - begin)/2;
        if (set[mid] < set[n - 1]) {
            begin = mid + 1;
        } else {
            end = mid;
        }
    }
    return begin + 1;
}

// Exact attention of a call's queries over the whole cache: every query of every head sees the keys that the mask shows it.
// K and V of a stream are read once for some hundred rows, whose bits depend on no other stream. On the CPU only: elsewhere
// stock's attention stays.
//   q     F32 [d_k, n_head, n_tokens, n_streams], n_tokens*n_streams <= GGML_H2O_DECODE_MAX; its rows may lie apart
//   k     any [d_k, n_kv, n_head_kv, n_streams]
//   v     any [d_v, n_kv, n_head_kv, n_streams], or with v_trans [n_kv, d_v, n_head_kv, n_streams] and no quantised type
//   mask  F16 or F32 [n_kv, >= n_tokens, 1, n_streams]: added to the logits; a key with -inf is hidden
//   sinks F32 [n_head] one more logit of each head with a value of zero, or null
// cap: logits become cap*tanh(logit/cap) before the mask; 0: they stay
// -> F32 [d_v, n_head, n_tokens, n_streams]; zeros for a query that sees no key
GGML_API struct ggml_tensor * ggml_h2o_decode(
        struct ggml_context * ctx,
        struct ggml_tensor  * q,
        struct ggml_tensor  * k,
        struct ggml_tensor  * v,
        struct ggml_tensor  * mask,
        struct ggml_tensor  * sinks,
        bool                  v_trans,
        float                 scale,
        float                 cap);

//
// Sparse decoding (README.md, "Sparse decoding")
//

// Bytes of a page in the index of signs: F16 [d] the mean key, F16 [GGML_H2O_PAGE] the scales of its keys, and for every four
// channels GGML_H2O_PAGE/2 bytes of signs. A bit is a channel, a nibble a key: the low one of byte i is key i of the page, the
// high one key i + GGML_H2O_PAGE/2.
static inline size_t ggml_h2o_signs_size(int64_t d) {
    return 2*(d + GGML_H2O_PAGE) + (d + 3)/4*(GGML_H2O_PAGE/2);
}

// the largest d that an index of signs can be of
#define GGML_H2O_SIGNS_MAX_D 1024

// the signs of pages [range[0], range[1]), in place; none if range[0] >= range[1]
//   k     any [d_k, n_cells, n_head_kv], cell i holds position i
//   signs I8 [ggml_h2o_signs_size(d_k), n_pages, n_head_kv]
//   range I32 [2], a tensor so that one graph serves all tokens
// -> a view of signs
GGML_API struct ggml_tensor * ggml_h2o_signs(
        struct ggml_context * ctx,
        struct ggml_tensor  * k,
        struct ggml_tensor  * signs,
        struct ggml_tensor  * range);

// What ggml_h2o_decode returned for one stream becomes sparse: a query head chooses n_heavy keys of pages [1, range[1]), and the heads of a KV head
// read what any of them chose, and the edges.
//   signs: of the same keys, complete up to page range[1]
GGML_API void ggml_h2o_decode_add_signs(
        struct ggml_tensor * decode,
        struct ggml_tensor * signs,
        struct ggml_tensor * range,
        int32_t              n_heavy);

//
// for backends
//

// of SELECT and LOOKUP
struct ggml_h2o_op_params {
    int32_t                 op; // enum ggml_h2o_op
    struct ggml_h2o_tracked tracked;

    // SELECT only
    int32_t                 pos;
    int32_t                 n_local;
    int32_t                 n_heavy;
};

struct ggml_h2o_attn_params {
    int32_t op; // enum ggml_h2o_op
    int32_t v_trans;
    int32_t causal;
    int32_t votes;
    float   scale;
};

// of PAGES
struct ggml_h2o_index_params {
    int32_t op; // enum ggml_h2o_op
    int32_t trans;
    int32_t begin;
    int32_t end;
};

struct ggml_h2o_query_params {
    int32_t op; // enum ggml_h2o_op
    int32_t n_cand;  // candidates: positions [0, n_cand)
    int32_t n_pages; // whole pages of them
    float   scale;
    float   least;   // the log of the share of a query's attention from which on it wants a key
};

struct ggml_h2o_estimate_params {
    int32_t op; // enum ggml_h2o_op
    int32_t n_pages; // whole pages of the candidates
    float   scale;
};

struct ggml_h2o_decode_params {
    int32_t op; // enum ggml_h2o_op
    int32_t v_trans;
    float   scale;
    float   cap;
    int32_t n_heavy; // keys that a query chooses; 0: it reads all of them
};

static inline enum ggml_h2o_op ggml_h2o_get_op(const struct ggml_tensor * dst) {
    return (enum ggml_h2o_op) dst->op_params[0];
}

static inline const struct ggml_h2o_op_params * ggml_h2o_get_op_params(const struct ggml_tensor * dst) {
    return (const struct ggml_h2o_op_params *) dst->op_params;
}

static inline const struct ggml_h2o_attn_params * ggml_h2o_get_attn_params(const struct ggml_tensor * dst) {
    return (const struct ggml_h2o_attn_params *) dst->op_params;
}

static inline const struct ggml_h2o_index_params * ggml_h2o_get_index_params(const struct ggml_tensor * dst) {
    return (const struct ggml_h2o_index_params *) dst->op_params;
}

static inline const struct ggml_h2o_query_params * ggml_h2o_get_query_params(const struct ggml_tensor * dst) {
    return (const struct ggml_h2o_query_params *) dst->op_params;
}

static inline const struct ggml_h2o_estimate_params * ggml_h2o_get_estimate_params(const struct ggml_tensor * dst) {
    return (const struct ggml_h2o_estimate_params *) dst->op_params;
}

static inline const struct ggml_h2o_decode_params * ggml_h2o_get_decode_params(const struct ggml_tensor * dst) {
    return (const struct ggml_h2o_decode_params *) dst->op_params;
}

// Not of the op: a product of a linear layer (ggml_mul_mat, ggml_mul_mat_id) that our kernels may run, which round otherwise than ggml's.
// The mark is the last of its op_params; backends that do not know it run the product as ever.
GGML_API void ggml_h2o_mark_linear(struct ggml_tensor * mul_mat);

static inline bool ggml_h2o_is_linear(const struct ggml_tensor * t) {
    return (t->op == GGML_OP_MUL_MAT || t->op == GGML_OP_MUL_MAT_ID) &&
        t->op_params[GGML_MAX_OP_PARAMS/sizeof(int32_t) - 1] == GGML_OP_H2O;
}

#ifdef __cplusplus
}
#endif
