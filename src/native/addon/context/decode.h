// One llama_decode call: tokens appended to a sequence, logits copied out, the next token drawn if asked.
//
// A call counts as a whole or not at all: after a failure or an abort the context holds what it held before. Models
// with sliding windows or recurrent layers are exceptions (context_state::rollback). If no token can be drawn, the
// context keeps the tokens of the call.
//
// A call of one token can have a draft behind it. Its tokens stay as far as they are those that the sampler draws.

#pragma once

#include "context-state.h"
#include "runtime/job.h"
#include "text/drafts.h"
#include "text/sampler.h"

#include <vector>

namespace addon {

enum class outputs { none = 0, last = 1, all = 2 };

struct decode_input {
    llama_seq_id             seq_id = 0;
    std::vector<llama_token> tokens;
    outputs                  logits = outputs::last;

    // where the logits go, n_vocab (last) or n_tokens * n_vocab (all) of them: memory of a JavaScript array that the
    // job keeps alive. May be null: then they stay in the context
    float *                             out = nullptr;
    Napi::Reference<Napi::Float32Array> out_array;

    uint32_t n_expected = 0; // tokens of the prompt that this call begins, if it is cut into calls; 0: none
    uint32_t n_decode   = 0; // keys that a query head reads in sparse decoding; 0: all

    // draws a token from the last logits; may be null
    std::shared_ptr<sampler> draw;

    // drafts behind the one token, of n_draft_max tokens at most; may be null
    std::shared_ptr<drafts> drafter;
    uint32_t                n_draft_max = 0;
};

class decode_job : public job {
public:
    // `trace` receives the trace of a sparse call, on the JavaScript thread
    decode_job(Napi::Env env, decode_input input, std::shared_ptr<context_state> state, std::shared_ptr<trace_ptr> trace);

protected:
    bool        computes() const override { return true; }
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    void check() const;
    void expect_nodes();
    void learn_nodes();
    int  decode();
    void read_results();
    void propose();
    void draw();
    void draw_drafted();
    drawn_token draw_one(int32_t i_output);
    void copy_logits();
    void copy_trace();

    decode_input                   input;
    std::shared_ptr<context_state> state;
    std::shared_ptr<trace_ptr>     trace_target;

    int32_t     base     = 0; // position of the first token
    int32_t     position = 0;
    h2o_call    call{};
    double      ms       = 0.0;
    trace_ptr   trace;

    std::vector<llama_token> draft;
    std::vector<drawn_token> drawn; // the first behind the call's own tokens, the others behind the draft's
};

} // namespace addon
