#include "model-load.h"

#include "fingerprint.h"
#include "log.h"
#include "memory-limit.h"
#include "model-check/model-check.h"
#include "values.h"
#include "vocab.h"

#include <ggml-backend.h>

#include <vector>

namespace addon {

std::string model_meta(const llama_model * model, const std::string & key) {
    char buffer[256];
    const int32_t n = llama_model_meta_val_str(model, key.c_str(), buffer, sizeof(buffer));
    return n < 0 ? "" : buffer;
}

std::string model_arch_meta(const llama_model * model, const std::string & key) {
    return model_meta(model, model_meta(model, "general.architecture") + "." + key);
}

static bool has_gpu() {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        const enum ggml_backend_dev_type type = ggml_backend_dev_type(ggml_backend_dev_get(i));
        if (type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU) {
            return true;
        }
    }
    return false;
}

static failure model_invalid(const std::string & path, const model_finding & found) {
    return failure("ERR_H2O_MODEL_INVALID", found.key + " (" + found.value + ") " + found.problem,
        {{"path", path}, {"key", found.key}, {"value", found.value}});
}

model_load_job::model_load_job(Napi::Env env, model_options options, std::shared_ptr<model_state> state) :
    job(env), options(std::move(options)), state(std::move(state)) {}

bool model_load_job::on_progress(float progress, void * data) {
    model_load_job * self = static_cast<model_load_job *>(data);
    self->state->progress.store(progress, std::memory_order_relaxed);
    return !self->is_aborted();
}

void model_load_job::run() {
    if (is_aborted()) {
        throw failure_interrupted(0);
    }

    const auto head = gguf_head_read(options.path);
    if (head) {
        if (const auto found = model_check(options.path, *head)) {
            throw model_invalid(options.path, *found);
        }
    }

    llama_model_params params = llama_model_default_params();

    if (options.n_gpu_layers >= 0) {
        params.n_gpu_layers = options.n_gpu_layers;
    }
    if (head && !head->can_be_mapped()) {
        params.load_mode = options.use_mlock ? LLAMA_LOAD_MODE_MLOCK : LLAMA_LOAD_MODE_NONE;
    } else if (options.has_mmap || options.use_mlock) {
        params.load_mode = options.use_mmap ? (options.use_mlock ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MMAP)
                                            : (options.use_mlock ? LLAMA_LOAD_MODE_MLOCK      : LLAMA_LOAD_MODE_NONE);
    }

    state->on_gpu = has_gpu() && options.n_gpu_layers != 0;
    if (head && !state->on_gpu) {
        // pages of a file that is mapped the kernel can drop
        const bool is_read = params.load_mode == LLAMA_LOAD_MODE_NONE || params.load_mode == LLAMA_LOAD_MODE_MLOCK;
        require_memory("the model", (double) head->n_bytes, is_read ? (double) head->n_bytes : 0.0);
    }

    params.progress_callback           = on_progress;
    params.progress_callback_user_data = this;

    log_capture log;

    model_ptr model(llama_model_load_from_file(options.path.c_str(), params), llama_model_free);

    if (is_aborted()) {
        throw failure_interrupted(0);
    }
    if (!model) {
        if (const auto found = model_check_failed(options.path)) {
            throw model_invalid(options.path, *found);
        }
        const bool memory = log.is_about_memory();
        throw failure(memory ? "ERR_H2O_CONTEXT_MEMORY" : "ERR_H2O_MODEL_INVALID",
            memory ? "there is not enough memory for the model" : "llama.cpp cannot load the model",
            {{"path", options.path}, {"log", log.text()}});
    }

    if (const auto * positions = head ? head->find_tensor("position_embd.weight") : nullptr) {
        state->n_positions = (double) positions->ne[1];
    }
    state->fingerprint = fingerprint_of(model.get(), options.path);
    state->model = std::move(model);
}

Napi::Value model_load_job::result(Napi::Env env) {
    const llama_model * model = state->model.get();
    const llama_vocab * vocab = llama_model_get_vocab(model);

    std::vector<char> description(256, '\0');
    llama_model_desc(model, description.data(), description.size());

    const bool has_tokenizer = llama_vocab_type(vocab) != LLAMA_VOCAB_TYPE_NONE;
    const llama_token bos    = has_tokenizer ? llama_vocab_bos(vocab) : LLAMA_TOKEN_NULL;

    Napi::Object info = Napi::Object::New(env);

    info.Set("description",  Napi::String::New(env, description.data()));
    info.Set("architecture", Napi::String::New(env, model_meta(model, "general.architecture")));
    info.Set("nParams",      Napi::Number::New(env, (double) llama_model_n_params(model)));
    info.Set("sizeBytes",    Napi::Number::New(env, (double) llama_model_size(model)));
    info.Set("nCtxTrain",    Napi::Number::New(env, llama_model_n_ctx_train(model)));
    info.Set("nVocab",       Napi::Number::New(env, llama_vocab_n_tokens(vocab)));
    info.Set("nLayer",       Napi::Number::New(env, llama_model_n_layer(model)));
    info.Set("nEmbd",        Napi::Number::New(env, llama_model_n_embd(model)));
    info.Set("bosToken",     bos == LLAMA_TOKEN_NULL ? env.Null() : Napi::Value(Napi::Number::New(env, bos)));
    const llama_token eos = has_tokenizer ? llama_vocab_eos(vocab) : LLAMA_TOKEN_NULL;
    const char * chat_template = llama_model_chat_template(model, nullptr);

    info.Set("eosToken",     eos == LLAMA_TOKEN_NULL ? env.Null() : Napi::Value(Napi::Number::New(env, eos)));
    info.Set("chatTemplate", chat_template ? Napi::Value(Napi::String::New(env, chat_template)) : env.Null());
    info.Set("addBos",       Napi::Boolean::New(env, has_tokenizer && llama_vocab_get_add_bos(vocab)));

    return info;
}

} // namespace addon
