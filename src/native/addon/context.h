// The JavaScript class NativeContext: one llama_context and the thread that works on it.

#pragma once

#include "context/context-state.h"
#include "context/decode.h"
#include "runtime/worker.h"
#include "text/sampler-job.h"

#include <napi.h>

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

    // (text, addSpecial, parseSpecial) -> Promise<Int32Array>
    Napi::Value tokenize(const Napi::CallbackInfo & info);

    // (options, past: Int32Array) -> Promise<undefined>: the sampler that later decode(..., draw = true) calls use;
    // `past` are the tokens that its penalties know of
    Napi::Value start_sampling(const Napi::CallbackInfo & info);

    // (tokens: Int32Array, outputs: 0 | 1 | 2, out: Float32Array | null, draw: boolean) -> Promise<call>
    Napi::Value decode(const Napi::CallbackInfo & info);

    // share of the running decode call, 0 to 1; 0 where the backend does not tell
    Napi::Value progress(const Napi::CallbackInfo & info);

    // ends the outstanding jobs early: they reject with ERR_H2O_INTERRUPTED
    Napi::Value abort(const Napi::CallbackInfo & info);

    Napi::Value forget (const Napi::CallbackInfo & info); // (from, to) -> Promise<position>
    Napi::Value save   (const Napi::CallbackInfo & info); // (note) -> Promise<Buffer>
    Napi::Value restore(const Napi::CallbackInfo & info); // (Uint8Array that nobody changes) -> Promise<{ position, inherited, reason, note }>

    Napi::Value piece     (const Napi::CallbackInfo & info); // (token, special) -> Buffer
    Napi::Value is_eog    (const Napi::CallbackInfo & info); // (token) -> boolean
    Napi::Value take_trace(const Napi::CallbackInfo & info); // () -> the trace of the last sparse call, once

    // aborts what is outstanding, frees the context on its thread, ends the thread
    Napi::Value dispose(const Napi::CallbackInfo & info);

    const llama_vocab * vocab(Napi::Env env) const;

    void report_freed(Napi::Env env);

    std::shared_ptr<context_state> state;
    std::shared_ptr<worker>        thread;
    std::shared_ptr<sampler_slot>  draw;
    std::shared_ptr<trace_ptr>     trace;
    bool                           on_gpu      = false;
    bool                           is_disposed = false;
};

} // namespace addon
