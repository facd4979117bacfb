#include "call-result.h"

namespace addon {

static Napi::Value reason_to_js(Napi::Env env, h2o_reason reason) {
    return reason == H2O_REASON_NONE ? env.Null() : Napi::Value(Napi::String::New(env, h2o_reason_name(reason)));
}

static void set_logprobs(Napi::Object & object, const drawn_token & drawn) {
    const Napi::Env env = object.Env();
    const size_t    n   = drawn.alternatives.size();

    Napi::Int32Array   tokens   = Napi::Int32Array::New(env, n);
    Napi::Float32Array logprobs = Napi::Float32Array::New(env, n);
    for (size_t i = 0; i < n; ++i) {
        tokens  [i] = drawn.alternatives[i].first;
        logprobs[i] = drawn.alternatives[i].second;
    }

    object.Set("logprob",     Napi::Number::New(env, drawn.logprob));
    object.Set("topTokens",   tokens);
    object.Set("topLogprobs", logprobs);
}

void set_drawn(Napi::Object & object, const drawn_token & drawn, const sampler * draw) {
    const Napi::Env env = object.Env();

    object.Set("token", drawn.token == LLAMA_TOKEN_NULL ? env.Null() : Napi::Value(Napi::Number::New(env, drawn.token)));
    if (draw && draw->n_logprobs() >= 0) {
        set_logprobs(object, drawn);
    }
}

Napi::Object call_to_js(
        Napi::Env env, const h2o_call & call, int32_t position, double ms, const drawn_token & drawn, const sampler * draw) {
    Napi::Object object = Napi::Object::New(env);

    object.Set("n",            Napi::Number::New(env, call.n_tokens));
    object.Set("pos",          Napi::Number::New(env, call.pos));
    object.Set("path",         Napi::String::New(env, h2o_path_name(call.path)));
    object.Set("reason",       reason_to_js(env, call.reason));
    object.Set("inherited",    Napi::Number::New(env, call.n_inherited));
    object.Set("chunks",       Napi::Number::New(env, call.n_chunks));
    object.Set("exact",        Napi::Boolean::New(env, call.is_exact));
    object.Set("decode",       Napi::Number::New(env, call.n_decode));
    object.Set("decodeReason", reason_to_js(env, call.decode_reason));
    object.Set("position",     Napi::Number::New(env, position));
    object.Set("ms",           Napi::Number::New(env, ms));
    set_drawn(object, drawn, draw);
    return object;
}

} // namespace addon
