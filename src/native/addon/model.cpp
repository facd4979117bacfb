#include "model.h"

#include "model/tokenize-job.h"
#include "model/vocab.h"
#include "runtime/values.h"
#include "text/chat-job.h"

namespace addon {

namespace {

class model_free_job : public job {
public:
    model_free_job(Napi::Env env, model_ptr model) : job(env), model(std::move(model)) {}

protected:
    void        run() override { model.reset(); }
    Napi::Value result(Napi::Env env) override { return env.Undefined(); }

private:
    model_ptr model;
};

} // namespace

Napi::Function model_object::define(Napi::Env env) {
    return DefineClass(env, "NativeModel", {
        InstanceMethod("open",          &model_object::open),
        InstanceMethod("abort",         &model_object::abort),
        InstanceMethod("progress",      &model_object::progress),
        InstanceMethod("tokenize",      &model_object::tokenize),
        InstanceMethod("startTokenize", &model_object::start_tokenize),
        InstanceMethod("detokenize",    &model_object::detokenize),
        InstanceMethod("renderChat",    &model_object::render_chat),
        InstanceMethod("startChat",     &model_object::start_chat),
        InstanceMethod("isEog",         &model_object::is_eog),
        InstanceMethod("dispose",       &model_object::dispose),
    });
}

model_object::model_object(const Napi::CallbackInfo & info) :
    Napi::ObjectWrap<model_object>(info), state(std::make_shared<model_state>()) {}

model_object::~model_object() {
    if (loader) {
        loader->shutdown();
    }
}

Napi::Value model_object::open(const Napi::CallbackInfo & info) {
    model_options options = model_options_from_js(info[0].As<Napi::Object>());

    loader = worker::start(info.Env(), "h2o_model");

    return loader->submit_last(std::make_unique<model_load_job>(info.Env(), std::move(options), state));
}

Napi::Value model_object::abort(const Napi::CallbackInfo & info) {
    if (loader) {
        loader->abort();
    }
    return info.Env().Undefined();
}

Napi::Value model_object::progress(const Napi::CallbackInfo & info) {
    return Napi::Number::New(info.Env(), state->progress.load(std::memory_order_relaxed));
}

const llama_vocab * model_object::vocab(Napi::Env env) const {
    return or_throw(env, [&] {
        if (!state->model) {
            throw failure("ERR_H2O_DISPOSED", "the model is not loaded");
        }
        return llama_model_get_vocab(state->model.get());
    });
}

static tokenize_options tokenize_options_of(const Napi::CallbackInfo & info) {
    tokenize_options options;
    options.add_special   = info[1].ToBoolean();
    options.parse_special = info[2].ToBoolean();
    return options;
}

Napi::Value model_object::tokenize(const Napi::CallbackInfo & info) {
    const tokenize_options options = tokenize_options_of(info);

    const auto tokens = or_throw(info.Env(),
        [&] { return vocab_tokenize(vocab(info.Env()), info[0].ToString().Utf8Value(), options); });
    return make_array<Napi::Int32Array>(info.Env(), tokens.data(), tokens.size());
}

// { result, abort }: the promise of a job on a thread of its own
static Napi::Value start(Napi::Env env, const char * name, std::unique_ptr<job> j) {
    const std::shared_ptr<worker> thread = worker::start_once(env, name);

    Napi::Object object = Napi::Object::New(env);
    object.Set("result", thread->submit_last(std::move(j)));
    object.Set("abort",  Napi::Function::New(env, [thread](const Napi::CallbackInfo &) { thread->abort(); }));
    return object;
}

Napi::Value model_object::start_tokenize(const Napi::CallbackInfo & info) {
    const Napi::Env env = info.Env();

    vocab(env);

    auto j = std::make_unique<tokenize_job>(env, state->model, info[0].ToString().Utf8Value(), tokenize_options_of(info));
    return start(env, "h2o_tokenize", std::move(j));
}

Napi::Value model_object::detokenize(const Napi::CallbackInfo & info) {
    detokenize_options options;
    options.remove_special  = info[1].ToBoolean();
    options.unparse_special = info[2].ToBoolean();

    const auto text = or_throw(info.Env(),
        [&] { return vocab_detokenize(vocab(info.Env()), get_int32s(info[0]), options); });
    return Napi::String::New(info.Env(), text);
}

Napi::Value model_object::render_chat(const Napi::CallbackInfo & info) {
    vocab(info.Env());

    return or_throw(info.Env(), [&] {
        const chat_request request = chat_request_of(info[0].As<Napi::Object>());
        return to_js(info.Env(), std::make_shared<const chat_prompt>(apply_chat_template(state->model.get(), request)));
    });
}

Napi::Value model_object::start_chat(const Napi::CallbackInfo & info) {
    const Napi::Env env = info.Env();

    vocab(env);

    return start(env, "h2o_chat", std::make_unique<chat_job>(env, state->model, chat_request_of(info[0].As<Napi::Object>())));
}

Napi::Value model_object::is_eog(const Napi::CallbackInfo & info) {
    const llama_vocab * v = vocab(info.Env());
    const llama_token token = info[0].As<Napi::Number>().Int32Value();
    return Napi::Boolean::New(info.Env(), vocab_is_valid(v, token) && llama_vocab_is_eog(v, token));
}

Napi::Value model_object::dispose(const Napi::CallbackInfo & info) {
    if (loader) {
        loader->shutdown();
    }
    return worker::run_once(info.Env(), "h2o_model_free",
        std::make_unique<model_free_job>(info.Env(), std::move(state->model)));
}

} // namespace addon
