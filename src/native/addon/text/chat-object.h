// The JavaScript classes NativeChat, a chat in a model's template, and NativeAnswer, one answer to it as it grows.

#pragma once

#include "chat-answer.h"

#include <napi.h>

#include <memory>

namespace addon {

class chat_object : public Napi::ObjectWrap<chat_object> {
public:
    static Napi::Function define(Napi::Env env);

    explicit chat_object(const Napi::CallbackInfo & info); // (what a NativeModel rendered)

    std::shared_ptr<const chat_prompt> prompt;

private:
    Napi::Value text (const Napi::CallbackInfo & info); // () -> Buffer, UTF-8
    Napi::Value stops(const Napi::CallbackInfo & info); // () -> string[]
    Napi::Value shown(const Napi::CallbackInfo & info); // () -> Int32Array, tokens
};

class answer_object : public Napi::ObjectWrap<answer_object> {
public:
    static Napi::Function define(Napi::Env env);

    explicit answer_object(const Napi::CallbackInfo & info); // (chat)

private:
    Napi::Value read      (const Napi::CallbackInfo & info); // (text, isPartial) -> { message, deltas }, JSON
    Napi::Value read_async(const Napi::CallbackInfo & info); // the same on a thread of its own -> Promise

    std::shared_ptr<chat_answer> answer;
};

} // namespace addon
