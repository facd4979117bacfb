// The JavaScript class NativeModel: the weights of one GGUF file and their vocabulary.

#pragma once

#include "model/model-load.h"
#include "runtime/worker.h"

#include <napi.h>

namespace addon {

class model_object : public Napi::ObjectWrap<model_object> {
public:
    static Napi::Function define(Napi::Env env);

    explicit model_object(const Napi::CallbackInfo & info);
    ~model_object() override;

    std::shared_ptr<model_state> state;

private:
    // (options) -> Promise<info>; once, before anything else
    Napi::Value open(const Napi::CallbackInfo & info);

    // ends a running open() early
    Napi::Value abort(const Napi::CallbackInfo & info);

    // share of the file that open() has read, 0 to 1
    Napi::Value progress(const Napi::CallbackInfo & info);

    Napi::Value tokenize  (const Napi::CallbackInfo & info); // (text, addSpecial, parseSpecial) -> Int32Array
    // (text, addSpecial, parseSpecial) -> { result: Promise<Int32Array>, abort() }
    Napi::Value start_tokenize(const Napi::CallbackInfo & info);

    Napi::Value detokenize(const Napi::CallbackInfo & info); // (Int32Array, removeSpecial, unparseSpecial) -> string
    // (request) -> what NativeChat is made of
    Napi::Value render_chat(const Napi::CallbackInfo & info);
    // (request) -> { result: Promise of the same, abort() }
    Napi::Value start_chat (const Napi::CallbackInfo & info);

    Napi::Value is_eog    (const Napi::CallbackInfo & info); // (token) -> boolean

    // lets go of the weights, on another thread, because freeing gigabytes takes time
    Napi::Value dispose(const Napi::CallbackInfo & info);

    const llama_vocab * vocab(Napi::Env env) const;

    std::shared_ptr<worker> loader;
};

} // namespace addon
