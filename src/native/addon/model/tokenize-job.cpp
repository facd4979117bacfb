#include "tokenize-job.h"

#include "runtime/values.h"

namespace addon {

tokenize_job::tokenize_job(Napi::Env env, model_ptr model, std::string text, tokenize_options options, int32_t group) :
    job(env, group), model(std::move(model)), text(std::move(text)), options(options) {
    this->options.aborted = &aborted();
}

void tokenize_job::run() {
    tokens = vocab_tokenize(llama_model_get_vocab(model.get()), text, options);
}

Napi::Value tokenize_job::result(Napi::Env env) {
    return make_array<Napi::Int32Array>(env, tokens.data(), tokens.size());
}

} // namespace addon
