// The JavaScript class NativeContext: one llama_context and the thread that works on it.
//
// Its functions take the sequence that they are about first. What is asked of one is aborted without the others.

#pragma once

#include "context/context-state.h"
#include "context/decode.h"
#include "runtime/worker.h"
#include "text/sampler-job.h"

#include <napi.h>

#include <map>

namespace addon {

class context_object : public Napi::ObjectWrap<context_object> {
public:
    static Napi::Function define(Napi::Env env);

    // (model: NativeModel)
    explicit context_object(const Napi::CallbackInfo & info);
    ~context_object() override;

private:
    // (options) -> Promise<info>; once, before anything else
    Napi::Value open(const Napi::CallbackInfo & info);

    // (sequence, text, addSpecial, parseSpecial) -> Promise<Int32Array>
    Napi::Value tokenize(const Napi::CallbackInfo & info);

    // (sequence, options, past: Int32Array, history: Int32Array | null) -> Promise<undefined>: the sampler that its later
    // decode(..., draw = true) calls use; `past` are the tokens that its penalties know of, `history` those that drafts come from
    Napi::Value start_sampling(const Napi::CallbackInfo & info);

    // (sequence, tokens: Int32Array, outputs: 0 | 1 | 2, out: Float32Array | null, draw: boolean, keys, expected,
    // draft) -> Promise<call>: `draft` tokens are guessed at most, and checked in the same call
    Napi::Value decode(const Napi::CallbackInfo & info);

    // (sequences: Int32Array, tokens: Int32Array) -> Promise<(call | { error })[]>: one token of each, and its sampler draws
    Napi::Value step(const Napi::CallbackInfo & info);

    // (sequence) -> share of its running decode call, 0 to 1; 0 where there is none, or the backend does not tell
    Napi::Value progress(const Napi::CallbackInfo & info);

    // (sequence): ends its outstanding jobs early: they reject with ERR_H2O_INTERRUPTED
    Napi::Value abort(const Napi::CallbackInfo & info);

    Napi::Value forget (const Napi::CallbackInfo & info); // (sequence, from, to) -> Promise<position>
    Napi::Value fork   (const Napi::CallbackInfo & info); // (sequence, source, n) -> Promise<position>: the first n tokens of source
    Napi::Value save   (const Napi::CallbackInfo & info); // (sequence, note) -> Promise<Buffer>
    Napi::Value restore(const Napi::CallbackInfo & info); // (sequence, Uint8Array that nobody changes) -> Promise<{ position, inherited, reason, note }>

    // (sequence) -> Promise<bytes that save() gives beside the note>
    Napi::Value state_size(const Napi::CallbackInfo & info);

    Napi::Value piece     (const Napi::CallbackInfo & info); // (token, special) -> Buffer
    Napi::Value is_eog    (const Napi::CallbackInfo & info); // (token) -> boolean
    Napi::Value take_trace(const Napi::CallbackInfo & info); // (sequence) -> the trace of its last sparse call, once

    // aborts what is outstanding, frees the context on its thread, ends the thread
    Napi::Value dispose(const Napi::CallbackInfo & info);

    const llama_vocab * vocab(Napi::Env env) const;

    void report_freed(Napi::Env env);

    std::shared_ptr<context_state> state;
    std::shared_ptr<worker>        thread;

    // of a sequence
    struct slots {
        std::shared_ptr<sampler_slot> draw  = std::make_shared<sampler_slot>();
        std::shared_ptr<trace_ptr>    trace = std::make_shared<trace_ptr>();
    };
    std::map<llama_seq_id, slots> sequences;

    bool                           on_gpu      = false;
    bool                           is_disposed = false;
};

} // namespace addon
