// A chat into a template, off the JavaScript thread; ends early when it is aborted. What comes of it is for
// NativeChat (chat-object.h): JavaScript holds it in between.

#pragma once

#include "chat-prompt.h"
#include "model/model-load.h"
#include "runtime/job.h"

#include <napi.h>

#include <memory>

namespace addon {

typedef std::shared_ptr<const chat_prompt> chat_prompt_ptr;

chat_request chat_request_of(const Napi::Object & object);

Napi::Value     to_js(Napi::Env env, const chat_prompt_ptr & prompt);
chat_prompt_ptr chat_prompt_of(const Napi::Value & value); // what to_js gave

// Resolves with what to_js gives
class chat_job : public job {
public:
    chat_job(Napi::Env env, model_ptr model, chat_request request);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    model_ptr       model;
    chat_request    request;
    chat_prompt_ptr prompt;
};

} // namespace addon
