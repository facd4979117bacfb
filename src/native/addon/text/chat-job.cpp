#include "chat-job.h"

#include "runtime/values.h"

namespace addon {

chat_request chat_request_of(const Napi::Object & object) {
    chat_request request;
    request.template_text    = get_string(object, "template", "");
    request.messages         = get_string(object, "messages", "");
    request.tools            = get_string(object, "tools", "");
    request.tool_choice      = get_string(object, "toolChoice", "");
    request.variables        = get_string(object, "variables", "");
    request.json_schema      = get_string(object, "jsonSchema", "");
    request.grammar          = get_string(object, "grammar", "");
    request.reasoning_format = get_string(object, "reasoningFormat", "");

    request.parallel_tool_calls   = (int32_t) get_number(object, "parallelToolCalls", request.parallel_tool_calls);
    request.add_generation_prompt = get_bool(object, "addGenerationPrompt", request.add_generation_prompt);

    request.continue_final_message = get_bool(object, "continueFinalMessage", request.continue_final_message);

    return request;
}

Napi::Value to_js(Napi::Env env, const chat_prompt_ptr & prompt) {
    return Napi::External<chat_prompt_ptr>::New(env, new chat_prompt_ptr(prompt),
        [](Napi::Env, chat_prompt_ptr * data) { delete data; });
}

chat_prompt_ptr chat_prompt_of(const Napi::Value & value) {
    return *value.As<Napi::External<chat_prompt_ptr>>().Data();
}

chat_job::chat_job(Napi::Env env, model_ptr model, chat_request request) :
    job(env), model(std::move(model)), request(std::move(request)) {
    this->request.is_aborted = &aborted();
}

void chat_job::run() {
    prompt = std::make_shared<const chat_prompt>(apply_chat_template(model.get(), request));
}

Napi::Value chat_job::result(Napi::Env env) {
    return to_js(env, prompt);
}

} // namespace addon
