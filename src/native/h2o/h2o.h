// The public C interface of H2O chunked sparse prefill: what a caller may ask of a llama_context.
//
// The method is asked for with llama_context_params.h2o, which points to a struct h2o_params; null means
// h2o_default_params(). Everything else (chunk size S = n_ubatch, logical batch B = n_batch) is llama.cpp's own.
//
// All functions are safe to call with a context that H2O does not serve.
// None of them may run while llama_decode runs on the same context.

#pragma once

#include "llama.h"

#ifdef __cplusplus
extern "C" {
#endif

// how a decode call read the cache
enum h2o_path {
    H2O_PATH_DENSE  = 0, // attention over the whole cache
    H2O_PATH_SPARSE = 1, // H2O chunked sparse prefill
};

// in which order a sparse call does its work (README.md, "Schedules")
enum h2o_schedule {
    H2O_SCHEDULE_SINGLE_PASS = 0, // both phases inside every layer of one pass over the network
    H2O_SCHEDULE_TWO_PASS    = 1, // one pass for the intra attention of all chunks, then one pass chunk by chunk
};

// "single-pass" or "two-pass"
LLAMA_API const char * h2o_schedule_name(enum h2o_schedule schedule);

// who chooses what a chunk remembers (README.md, "Policies")
enum h2o_policy_type {
    H2O_POLICY_AUTO  = -1, // the first that runs the schedule; a context has one of the others
    H2O_POLICY_VOTES = 0, // the positions that got the most attention
    H2O_POLICY_QUERY = 1, // those of all positions that the chunk's own queries ask for; single-pass only
};

// "auto", "votes" or "query"
LLAMA_API const char * h2o_policy_name(enum h2o_policy_type policy);

// what a policy is beside the sets that it chooses
struct h2o_policy_traits {
    enum h2o_policy_type type;
    const char         * name;
    const char         * about; // who chooses, for help texts

    // defaults (docs/quality.md)
    uint32_t n_local;    // L: at most 1/local_part of a chunk, which leaves room for H
    uint32_t local_part;
    uint32_t n_heavy;    // H
    bool     heavy_grows; // a default H
    uint32_t n_dense_tail;

    bool fits_chunk;     // L + H < S; else L < S alone
    bool runs_two_pass;
    bool has_memory;     // chunks inherit from those before them, and a saved state holds it; else K is all that sets depend on
    bool casts_votes;    // attention sums votes, which costs a second visit of the keys on a GPU
    bool has_own_sets;   // each query head has one for each block of its queries; else the heads of a group share a chunk's
    bool has_local_near; // Local belongs to a chunk's intra attention, and not to its sets
};

// the i-th policy, 0 being what auto prefers; null past the last
LLAMA_API const struct h2o_policy_traits * h2o_get_policy(int32_t i);

// null for auto
LLAMA_API const struct h2o_policy_traits * h2o_get_policy_traits(enum h2o_policy_type policy);

// what is recorded of a sparse call, see h2o_get_trace
enum h2o_trace_level {
    H2O_TRACE_OFF  = 0,
    H2O_TRACE_SETS = 1, // memory sets and scores
    H2O_TRACE_MASS = 2, // what dense attention would have given each position, too: costs about what dense attention does
};

// of a count: the default of the policy
#define H2O_AUTO UINT32_MAX

// what a context is made with; read by llama_init_from_model, and not needed after it
struct h2o_params {
    enum h2o_policy_type policy;
    enum h2o_schedule    schedule;

    uint32_t n_local; // L, the last positions before a chunk, per KV head
    uint32_t n_heavy; // H, positions that the policy chooses at most, per head; L = H = 0 is off

    // H grows with the positions that a set is chosen from, see h2o_heavy_among: `query` only
    bool heavy_grows;

    // the last tokens of a prompt that are dense: for whoever cuts prompts into calls, llama_decode takes no notice
    uint32_t n_dense_tail;

    // from the first call on; graphs are reserved for it. See h2o_set_trace
    enum h2o_trace_level trace;

    // Keys that each query head chooses of the cache for each decoded token, beside the edges (README.md, "Sparse decoding"):
    // 0 is all of them, H2O_AUTO is h2o_decode_among(). What is not 0 gives the context an index of its keys, 4.3 % of an F16
    // cache with heads of 128. Dense calls of up to 8 tokens, in layers whose K and V are on the CPU
    uint32_t n_decode;

    // linear layers by upstream's products alone, however many rows they have (ops/cpu/linear), and dense calls by upstream's
    // attention alone, however few tokens they have (ops/cpu/decode): what is dense then has unpatched llama.cpp's logits to
    // the bit
    bool upstream_products;
};

// Single-pass, no trace, our products, all keys for decoding, and auto for the rest: the policy's traits say what that is.
LLAMA_API struct h2o_params h2o_default_params(void);

// What a context makes of them, with chunks of S tokens (0: no limit) and a model with so many query heads to a KV head:
// nothing auto but n_decode, which each call resolves.
LLAMA_API struct h2o_params h2o_resolve_params(struct h2o_params params, uint32_t n_chunk, uint32_t n_group);

// H of a set among n_cand positions: n_heavy, or where it grows, of more than n_heavy, max(n_heavy, min(n_cand - 1, 4096 +
// n_cand/16)). `query` takes fewer where its queries want no more
LLAMA_API int32_t h2o_heavy_among(int32_t n_heavy, bool heavy_grows, int32_t n_cand);

// Keys that a head chooses of n_cand in sparse decoding: n_decode, or by H2O_AUTO what keeps the distance to all keys about the
// same, whatever their number. 0: in such groups so many would take about as long as all
LLAMA_API uint32_t h2o_decode_among(uint32_t n_decode, uint32_t n_group, int64_t n_cand);

// whether L or H are less than was asked for; an even split that
// just fills the chunk (256 + 256 of 512) is not worth a word
LLAMA_API bool h2o_lowers_params(struct h2o_params asked, uint32_t n_chunk);

// why a call, or a whole context, is dense, or why a dense call reads all keys; a closed list, the names are permanent (see h2o_reason_name)
enum h2o_reason {
    H2O_REASON_NONE = 0,                 // the call was sparse, or the context is covered
    H2O_REASON_OFF,                      // L + H = 0
    H2O_REASON_ONE_CHUNK,                // the call holds no more than S tokens
    H2O_REASON_BATCH_TOO_SMALL,          // n_batch or n_ctx_seq <= n_ubatch: no call can hold more than one chunk
    H2O_REASON_UNSUPPORTED_ARCHITECTURE, // attention that the graph does not show: a cap by name, a router, an encoder
    H2O_REASON_UNSUPPORTED_MEMORY,       // no KV cache that H2O can serve: all layers recurrent, or an index
    H2O_REASON_UNSUPPORTED_ATTENTION,    // MLA, ALiBi, a bias on the logits
    H2O_REASON_UNSUPPORTED_CONTEXT,      // pooling, a special context type, tensor split; n_rs_seq and a short last chunk
    H2O_REASON_UNSUPPORTED_DEVICE,       // a device that cannot say whether it runs the op
    H2O_REASON_UNSUPPORTED_SCHEDULE,     // the policy has no two-pass
    H2O_REASON_MULTI_SEQUENCE,           // tokens of several sequences at once; two-pass, or sparse decoding, of several
    H2O_REASON_EMBEDDING_INPUT,          // the call holds embeddings instead of token ids
    H2O_REASON_NON_CAUSAL,               // attention is not causal
    H2O_REASON_POSITIONS_NOT_CONSECUTIVE,// the call's positions have a gap, or do not follow the cache
    H2O_REASON_KV_NOT_CONTIGUOUS,        // cell i does not hold position i up to the end of the call
    H2O_REASON_FEW_POSITIONS,            // of sparse decoding: fewer candidates than 8 times those that it would choose, or as many
    H2O_REASON_MANY_TOKENS,              // of sparse decoding: the call holds more than 8 tokens
    H2O_REASON_COUNT,
};

// "one-chunk", "off", ...; "none" for H2O_REASON_NONE
LLAMA_API const char * h2o_reason_name(enum h2o_reason reason);

// "dense" or "h2o"
LLAMA_API const char * h2o_path_name(enum h2o_path path);

// One llama_decode call. It is sparse if one of its sequences is; positions and chunks are then those of the first that is.
// The reason of a dense call is that of the sequence with the most tokens.
struct h2o_call {
    int32_t         n_tokens;    // of all sequences
    int32_t         n_sparse;    // of those that were sparse
    llama_pos       pos;         // position of the first token
    enum h2o_path   path;
    enum h2o_reason reason;      // H2O_REASON_NONE iff path is sparse
    int32_t         n_chunks;    // chunks of S tokens, a partial tail included; 0 if dense
    int32_t         n_inherited; // positions before the call that its first chunk could attend to; 0 if there was no memory
    bool            is_exact;    // dense: attention took H2O's exact kernel, where K and V are on the CPU, and not stock's
    int32_t         n_decode;    // dense: keys that each query head chose; 0 if it read all of them
    enum h2o_reason decode_reason; // H2O_REASON_NONE iff n_decode > 0
};

// the last llama_decode call that succeeded; false if there was none
LLAMA_API bool h2o_get_last_call(const struct llama_context * ctx, struct h2o_call * call);

// calls and tokens so far, since the context was made
struct h2o_count {
    int64_t n_calls;
    int64_t n_tokens;
};

// The dense calls with this reason; the sparse ones for H2O_REASON_NONE. A call with several sequences counts for the reason
// of each, with its tokens
LLAMA_API struct h2o_count h2o_get_count(const struct llama_context * ctx, enum h2o_reason reason);

// the dense calls of which is_exact is true
LLAMA_API struct h2o_count h2o_get_exact_count(const struct llama_context * ctx);

// the dense calls of which n_decode is above 0
LLAMA_API struct h2o_count h2o_get_decode_count(const struct llama_context * ctx);

// logs these counts, if a call was sparse or would have been but for its reason; llama_perf_context_print does
LLAMA_API void h2o_perf_print(const struct llama_context * ctx);

struct h2o_info {
    enum h2o_reason   reason;        // why no call of this context can be sparse, or H2O_REASON_NONE
    enum h2o_schedule schedule;
    enum h2o_policy_type policy;
    uint32_t          n_chunk;       // S
    uint32_t          n_local;       // L after clamping
    uint32_t          n_heavy;       // H after clamping
    bool              heavy_grows;   // as in h2o_params
    uint32_t          n_group;       // query heads to a KV head, in the layer with most
    uint32_t          n_decode;      // keys that a query head chooses of the cache as it decodes; 0: all; or H2O_AUTO
    enum h2o_reason   decode_reason; // why h2o_set_decode refuses, or H2O_REASON_NONE; H2O_REASON_OFF: n_decode was 0, also by auto
    size_t            size_state;    // bytes of the persistent buffers, all layers and KV heads
    size_t            size_index;    // bytes of the policy's index, 0 for votes, and of that of sparse decoding
    size_t            size_intra;    // bytes of the cached intra attention of one call; 0 unless two-pass
    size_t            size_kv;       // bytes of the KV cache, or of whatever memory the model has
    size_t            size_compute;  // bytes of all compute buffers
    size_t            size_sparse;   // bytes of compute buffers that the largest reserved sparse graph needs, 0 if not covered
    bool              is_fused;      // attention runs in GGML_OP_H2O, not as a graph of stock ops
    bool              on_gpu;        // attention of some layer runs on a GPU
    int32_t           n_nodes;       // nodes of the largest reserved sparse graph, 0 if not covered
};

LLAMA_API struct h2o_info h2o_get_info(const struct llama_context * ctx);

// what size_kv of a context with these parameters will be, without H2O: layers with a window hold no more than it, and
// recurrent layers one state per sequence. Index caches of sparse architectures are not counted
LLAMA_API double h2o_get_kv_size(const struct llama_model * model, const struct llama_context_params * params);

//
// what a sparse prefill saves
//

// how a layer attends in a sparse call; a closed list, the names are permanent
enum h2o_layer_type {
    H2O_LAYER_SPARSE = 0,   // to what H2O chooses
    H2O_LAYER_DENSE,        // to all positions: the context is not covered
    H2O_LAYER_WINDOW,       // to the last positions alone, as it always does
    H2O_LAYER_RECURRENT,    // it keeps a state instead of K and V
    H2O_LAYER_NO_ATTENTION,
};

// "sparse", "dense", "window", "recurrent" or "none"
LLAMA_API const char * h2o_layer_name(enum h2o_layer_type type);

// layers of the trunk; those that predict further tokens do not count
LLAMA_API int32_t             h2o_n_layers (const struct llama_context * ctx);
LLAMA_API enum h2o_layer_type h2o_get_layer(const struct llama_context * ctx, int32_t il);

// floating-point operations of a prefill, as the sparse graph shows them; all 0 if the context is not covered
struct h2o_cost {
    double  linear;      // of the weights' matrices, per token
    double  pair;        // of attention in sparse layers, per query and key that it reads, all heads
    double  pair_window; // the same in layers with a window
    int32_t n_window;    // positions that these see at most
};

LLAMA_API struct h2o_cost h2o_get_cost(const struct llama_context * ctx);

// whether the next sparse call of the sequence goes on from what was read
// before: always, where the policy chooses from the cache itself
LLAMA_API bool h2o_has_memory(const struct llama_context * ctx, llama_seq_id seq_id);

// The next n_tokens tokens of the sequence are one prompt, which comes in several calls: each is sparse, however short, as it
// would be in a single one. An edit of the sequence ends that. Without effect where a prompt of n_tokens would be dense;
// false where the context has no such sequence, or h2o_info.reason says why all of its calls are dense.
LLAMA_API bool h2o_expect(struct llama_context * ctx, llama_seq_id seq_id, uint32_t n_tokens);

// of llama_state_seq_get_size_ext and llama_state_seq_get_data_ext: the state also holds what sliding windows have from before
// their reach, as a state of the whole context does. So the sequence can go back as far as before
#define H2O_STATE_SEQ_FLAGS_WHOLE (1u << 31)

// forgets memory set and scores of a sequence, or of all (-1), and nothing of the cache
LLAMA_API void h2o_reset_memory(struct llama_context * ctx, llama_seq_id seq_id);

// Keys that each query head chooses from the next call on: 0 is all of them, H2O_AUTO is h2o_decode_among(). False where
// h2o_info.decode_reason says why, unless n is 0: then it changes nothing
LLAMA_API bool h2o_set_decode(struct llama_context * ctx, uint32_t n);

//
// introspection: what every layer and head scored and kept, chunk by chunk, of the last sparse call
//

// takes effect with the next call; costs memory and one copy to the host per call. False for H2O_TRACE_MASS in a
// context that was not made with it: its graphs have no room. H2O_TRACE_MASS needs more compute buffer than was
// reserved (up to 512 MiB per device): it grows during the first calls
LLAMA_API bool h2o_set_trace(struct llama_context * ctx, enum h2o_trace_level level);

// one layer of one chunk; the pointers live until the next call
struct h2o_trace {
    int32_t         il;          // layer
    llama_pos       pos;         // the chunk begins here
    int32_t         n_chunk;     // tokens in the chunk
    int32_t         n_heads;     // with sets of their own: KV heads by votes, query heads by query
    int32_t         n_near;      // positions before the chunk that it attended to besides: Local, where no set holds it
    int32_t         n_mem;       // positions in a memory set that the chunk attended to, by query at most; 0 if none
    int32_t         n_sets;      // sets of a head, one for each block of 64 like queries of the chunk; 1: for all of them
    const int32_t * order;       // [n_chunk, n_heads] what blocks are cut from: the query at each place; null without blocks
    const int32_t * mem_pos;     // [n_mem,   n_heads, n_sets] ascending per set; a smaller one ends with its last position again and again
    const float   * mem_score;   // [n_mem,   n_heads] scores after this chunk's votes; null without votes
    const float   * chunk_score; // [n_chunk, n_heads] initial scores of the chunk's own positions; null without votes
    const float   * mass;        // [pos + n_chunk, n_heads, max(n_sets, 1)] column sums of the full causal softmax of
                                 // the chunk's queries, set by set those that it is for, over the query heads that
                                 // share it; null unless H2O_TRACE_MASS
};

// entries of the last call, ordered by layer, then chunk
LLAMA_API int32_t h2o_trace_n  (const struct llama_context * ctx);
LLAMA_API bool    h2o_get_trace(const struct llama_context * ctx, int32_t i, struct h2o_trace * trace);

#ifdef __cplusplus
}
#endif
