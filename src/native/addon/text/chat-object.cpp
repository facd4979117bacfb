#include "chat-object.h"

#include "chat-job.h"
#include "runtime/failure.h"
#include "runtime/values.h"
#include "runtime/worker.h"

namespace addon {

static Napi::Value to_js(Napi::Env env, const chat_answer::reading & reading) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("message", Napi::String::New(env, reading.message));
    object.Set("deltas",  Napi::String::New(env, reading.deltas));
    return object;
}

namespace {

class answer_job : public job {
public:
    answer_job(Napi::Env env, std::shared_ptr<chat_answer> answer, std::string text, bool is_partial) :
        job(env), answer(std::move(answer)), text(std::move(text)), is_partial(is_partial) {}

protected:
    void        run() override { reading = answer->read(text, is_partial); }
    Napi::Value result(Napi::Env env) override { return to_js(env, reading); }

private:
    std::shared_ptr<chat_answer> answer;
    std::string                  text;
    bool                         is_partial;
    chat_answer::reading         reading;
};

} // namespace

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
    return Napi::Buffer<char>::Copy(info.Env(), prompt->text.data(), prompt->text.size());
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
        InstanceMethod("read",      &answer_object::read),
        InstanceMethod("readAsync", &answer_object::read_async),
    });
}

answer_object::answer_object(const Napi::CallbackInfo & info) :
    Napi::ObjectWrap<answer_object>(info),
    answer(std::make_shared<chat_answer>(chat_object::Unwrap(info[0].As<Napi::Object>())->prompt)) {}

Napi::Value answer_object::read(const Napi::CallbackInfo & info) {
    const std::string text = info[0].ToString().Utf8Value();
    return to_js(info.Env(), or_throw(info.Env(), [&] { return answer->read(text, info[1].ToBoolean()); }));
}

Napi::Value answer_object::read_async(const Napi::CallbackInfo & info) {
    return worker::run_once(info.Env(), "h2o_answer",
        std::make_unique<answer_job>(info.Env(), answer, info[0].ToString().Utf8Value(), info[1].ToBoolean()));
}

} // namespace addon
