// The export list of h2o_llama.node. Its TypeScript side is src/ts/native/surface.ts.
//
// Nothing here is shared between JavaScript environments but llama.cpp's backends and its log level: every worker
// thread has its own classes, objects and native threads.

#include "context.h"
#include "model.h"
#include "context/h2o-options.h"
#include "runtime/assertion.h"
#include "runtime/backends.h"
#include "runtime/library.h"
#include "runtime/log.h"
#include "runtime/system.h"
#include "runtime/worker.h"
#include "text/chat-object.h"

#include <mutex>

namespace addon {

static Napi::Value set_log_level(const Napi::CallbackInfo & info) {
    log_set_level(info[0].As<Napi::Number>().Int32Value());
    return info.Env().Undefined();
}

static Napi::Object init(Napi::Env env, Napi::Object exports) {
    static std::once_flag once;
    std::call_once(once, [] {
        keep_library_loaded();
        log_install();
        assertion_install();
        load_backends();
        llama_backend_init();
    });

    worker::end_with_process(env);

    exports.Set("NativeModel",   model_object::define(env));
    exports.Set("NativeContext", context_object::define(env));
    exports.Set("NativeChat",    chat_object::define(env));
    exports.Set("NativeAnswer",  answer_object::define(env));
    exports.Set("setLogLevel",   Napi::Function::New(env, set_log_level));
    exports.Set("resolveH2o",    Napi::Function::New(env, h2o_resolve));
    exports.Set("autoDecode",    Napi::Function::New(env, h2o_auto_decode));
    exports.Set("heavyAmong",    Napi::Function::New(env, h2o_heavy_of));
    exports.Set("systemInfo",    Napi::Function::New(env, system_info));

    return exports;
}

NODE_API_MODULE(h2o_llama, init)

} // namespace addon
