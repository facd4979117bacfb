#include "chat-object.h"

#include "chat-job.h"
#include "failure.h"
#include "values.h"

namespace addon {

Napi::Function chat_object::define(Napi::Env env) {
    return DefineClass(env, "NativeChat", {
        InstanceMethod("text",  &chat_object::text),
        InstanceMethod("stops", &chat_object::stops),
        InstanceMethod("shown", &chat_object::shown),
    });
}

chat_object::chat_object(const Napi::CallbackInfo & info) :
    Napi::ObjectWrap<chat_object>(info), prompt(chat_prompt_of(info[0])) {}

Napi::Value chat_object::text(const Napi::CallbackInfo & info) {
    return Napi::String::New(info.Env(), prompt->text);
}

Napi::Value chat_object::stops(const Napi::CallbackInfo & info) {
    Napi::Array array = Napi::Array::New(info.Env(), prompt->stops.size());
    for (size_t i = 0; i < prompt->stops.size(); ++i) {
        array.Set((uint32_t) i, Napi::String::New(info.Env(), prompt->stops[i]));
    }
    return array;
}

Napi::Value chat_object::shown(const Napi::CallbackInfo & info) {
    const std::vector<llama_token> tokens(prompt->shown.begin(), prompt->shown.end());
    return make_array<Napi::Int32Array>(info.Env(), tokens.data(), tokens.size());
}

Napi::Function answer_object::define(Napi::Env env) {
    return DefineClass(env, "NativeAnswer", {
        InstanceMethod("read", &answer_object::read),
    });
}

answer_object::answer_object(const Napi::CallbackInfo & info) :
    Napi::ObjectWrap<answer_object>(info),
    answer(std::make_unique<chat_answer>(chat_object::Unwrap(info[0].As<Napi::Object>())->prompt)) {}

Napi::Value answer_object::read(const Napi::CallbackInfo & info) {
    const std::string text = info[0].ToString().Utf8Value();
    const auto reading = or_throw(info.Env(), [&] { return answer->read(text, info[1].ToBoolean()); });

    Napi::Object object = Napi::Object::New(info.Env());
    object.Set("message", Napi::String::New(info.Env(), reading.message));
    object.Set("deltas",  Napi::String::New(info.Env(), reading.deltas));
    return object;
}

} // namespace addon
