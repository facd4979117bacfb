// A llama_context for tests: one decode call at a time, all logits of it, and what attention saw and made of it.

#pragma once

#include "tiny-model.h"

#include "h2o.h"

#include <map>
#include <string>
#include <vector>

class llama_kv_cache;

struct test_context_params {
    h2o_schedule    schedule = H2O_SCHEDULE_SINGLE_PASS;
    h2o_policy_type policy   = H2O_POLICY_QUERY;
    bool            fused    = true; // attention in GGML_OP_H2O, or as a graph of stock ops

    int n_ctx   = 2048;
    int n_batch = 1536;
    int n_chunk = 160; // S = n_ubatch: two blocks of queries and a half
    int n_local = 8;   // L
    int n_heavy = 16;  // H

    int  n_seq   = 1;     // sequences, with n_ctx each
    bool unified = false; // they share n_ctx cells

    bool swa_full = true; // as llama_context_default_params
    int  n_rs_seq = 0;    // tokens that recurrent layers can go back

    int n_decode = 0; // keys of a head in sparse decoding

    bool upstream_products = false; // dense calls are stock's to the bit

    ggml_type type_kv    = GGML_TYPE_F32;
    bool      flash_attn = false; // also the layout of V: transposed without
    int       n_threads  = 1;     // tiny graphs on many threads suffer where the cores are busy
    bool      capture    = true;  // keep q, k, v and the output of every layer's attention

    test_context_params off()   const; // the same without H2O
    test_context_params small() const; // the same in chunks of 32

    // how many positions a sparse call at pos finds: votes have to remember them, query looks into the cache
    int n_inherited(int pos, bool remembers) const;
};

// by the policy votes, in chunks of 32
test_context_params test_votes();

// sets or (null) unsets an environment variable
void test_set_env(const char * name, const char * value);

// one layer and chunk of the last sparse call, see h2o_trace
struct test_trace {
    int il;
    int pos;
    int n_chunk;
    int n_heads;
    int n_mem;

    std::vector<int32_t> order;       // [n_heads][n_chunk]; by query only: the query at each place of the blocks
    std::vector<int32_t> mem_pos;     // [n_sets][n_heads][n_mem]
    std::vector<float>   mem_score;   // [n_heads][n_mem]; by votes only
    std::vector<float>   chunk_score; // [n_heads][n_chunk]; the same
};

// K or V of one layer as the cache holds them, or as they were written
typedef std::vector<float> test_kv; // [n_pos][n_head_kv][d_head]

// an abort callback, asked at every node of a graph
struct test_abort_after {
    int n_left;

    static bool is_over(void * data) { return ((test_abort_after *) data)->n_left-- <= 0; }
};

// tokens of one sequence
struct test_run {
    llama_seq_id             seq_id;
    std::vector<llama_token> tokens;
};

class test_context {
public:
    test_context(const tiny_model & model, const test_context_params & params = {});

    // one llama_decode call that continues the sequence
    void decode(const std::vector<llama_token> & tokens, llama_seq_id seq_id = 0);

    // the same from a position on
    void decode_at(const std::vector<llama_token> & tokens, llama_pos pos, llama_seq_id seq_id = 0);

    // one that continues several sequences; its status
    int try_decode(const std::vector<test_run> & runs);

    // one that is aborted after so many nodes; checks that nothing of it stays
    void decode_aborted(std::vector<llama_token> tokens, int n_nodes);

    // of the last call
    int                     n_tokens() const { return call().n_tokens; }
    h2o_call                call()     const;
    std::vector<float>      logits()   const; // [n_tokens][n_vocab]
    std::vector<test_trace> trace()    const;

    // of the last call, if captured; RoPE applied. A two-pass call goes over its tokens twice: q_intra, k and v are of
    // the first pass, q and out of the last one
    std::vector<float> q_intra(int il) const; // [n_tokens][n_head][d_head]
    std::vector<float> q      (int il) const;
    test_kv            k      (int il) const;
    test_kv            v      (int il) const;
    std::vector<float> out    (int il) const; // [n_tokens][n_head*d_head]
    int                n_passes()      const;

    // of the cache, cells [0, n)
    test_kv k_cache(int il, int n) const;
    test_kv v_cache(int il, int n) const;

    int  n_pos(llama_seq_id seq_id = 0) const;     // positions in the cache
    void truncate(int pos, llama_seq_id seq_id = 0); // removes what is past
    void clear();

    std::vector<uint8_t> save(llama_seq_id seq_id = 0) const;
    void                 restore(const std::vector<uint8_t> & state, llama_seq_id seq_id = 0);

    llama_context  * get()    const { return ctx.get(); }
    llama_memory_t   memory() const { return llama_get_memory(ctx.get()); }
    llama_kv_cache & cache()  const;

    const tiny_model_params & model;

private:
    std::map<std::string, std::vector<float>> captured;
    llama_context_ptr ctx;

    int try_decode_at(const std::vector<test_run> & runs, const std::vector<llama_pos> & pos);

    static bool capture(ggml_tensor * t, bool ask, void * user_data);

    std::vector<float> columns(const char * name, int il, int n_per_token, bool first_pass = false) const;
};
