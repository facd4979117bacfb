#include "model-load.h"

#include "fingerprint.h"
#include "vocab.h"
#include "model-check/model-check.h"
#include "runtime/log.h"
#include "runtime/memory-limit.h"
#include "runtime/values.h"

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

model_options model_options_from_js(const Napi::Object & object) {
    model_options o;

    o.path         = get_string(object, "path", "");
    o.n_gpu_layers = (int) get_number(object, "nGpuLayers", o.n_gpu_layers);
    o.load_mode    = get_string(object, "loadMode", o.load_mode);
    o.devices      = device_options_from_js(object);
    o.places       = tensor_places_from_js(object.Get("overrideTensors"));
    o.overrides    = kv_overrides::from_js(object.Get("overrideKv"));
    o.loras        = lora_options_from_js(object.Get("loras"));

    return o;
}

static llama_load_mode load_mode_of(const std::string & name) {
    return name == "none"       ? LLAMA_LOAD_MODE_NONE       :
           name == "mmap"       ? LLAMA_LOAD_MODE_MMAP       :
           name == "mlock"      ? LLAMA_LOAD_MODE_MLOCK      :
           name == "mmap+mlock" ? LLAMA_LOAD_MODE_MMAP_MLOCK :
           name == "dio"        ? LLAMA_LOAD_MODE_DIRECT_IO  : LLAMA_LOAD_MODE_AUTO;
}

// ggml asserts on the address of what it maps
static llama_load_mode unmapped(llama_load_mode mode) {
    return mode == LLAMA_LOAD_MODE_AUTO || mode == LLAMA_LOAD_MODE_MMAP ? LLAMA_LOAD_MODE_NONE :
           mode == LLAMA_LOAD_MODE_MMAP_MLOCK ? LLAMA_LOAD_MODE_MLOCK : mode;
}

model_load_job::model_load_job(Napi::Env env, model_options options, std::shared_ptr<model_state> state) :
    job(env), options(std::move(options)), state(std::move(state)) {}

bool model_load_job::on_progress(float progress, void * data) {
    model_load_job * self = static_cast<model_load_job *>(data);
    self->state->progress.store(progress, std::memory_order_relaxed);
    return !self->is_aborted();
}

void model_load_job::check(const gguf_head & head) const {
    if (const auto found = options.overrides.check(options.path, head)) {
        throw model_invalid(options.path, *found);
    }
}

void model_load_job::require_room(const gguf_head & head, llama_load_mode mode) const {
    if (state->on_gpu) {
        return;
    }
    // pages of a file that is mapped the kernel can drop
    const bool is_mapped =
        mode == LLAMA_LOAD_MODE_AUTO || mode == LLAMA_LOAD_MODE_MMAP || mode == LLAMA_LOAD_MODE_MMAP_MLOCK;
    require_memory("the model", (double) head.n_bytes, is_mapped ? 0.0 : (double) head.n_bytes);
}

void model_load_job::load(
        const std::optional<gguf_head> & head, const model_devices & devices, llama_model_params params) {
    const tensor_shapes tensors = head ? head->tensors : tensor_shapes();
    const tensor_places places(options.places, tensors);

    devices.apply(params);
    params.tensor_buft_overrides = places.data();

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

    state->adapters.load(model.get(), tensors, options.loras);
    state->model = std::move(model);
}

void model_load_job::run() {
    if (is_aborted()) {
        throw failure_interrupted(0);
    }

    const auto head = model_head(options.path);
    if (head) {
        check(*head);
    }

    llama_model_params params = llama_model_default_params();

    if (options.n_gpu_layers >= 0) {
        params.n_gpu_layers = options.n_gpu_layers;
    }
    params.load_mode = load_mode_of(options.load_mode);
    if (head && !head->can_be_mapped) {
        params.load_mode = unmapped(params.load_mode);
    }
    params.kv_overrides = options.overrides.data();

    const model_devices devices(options.devices);

    state->n_devices = devices.count();
    state->on_gpu    = state->n_devices > 0 && options.n_gpu_layers != 0;
    if (head) {
        require_room(*head, params.load_mode);
    }

    params.progress_callback           = on_progress;
    params.progress_callback_user_data = this;

    load(head, devices, params);

    if (const auto * positions = head ? head->find_tensor("position_embd.weight") : nullptr) {
        state->n_positions = (double) positions->ne[1];
    }
    if (head) {
        const gguf_head    as_read = options.overrides.apply(*head);
        const gguf_value * arch    = as_read.find("general.architecture");

        state->architecture = arch ? std::string(arch->text()) : "";
        const gguf_value * causal = as_read.find(state->architecture + ".attention.causal");
        state->causal = !causal || causal->number() != 0;
    }
    state->fingerprint = state->adapters.fingerprint(
        options.overrides.fingerprint(fingerprint_of(state->model.get(), options.path)));
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
    info.Set("architecture", Napi::String::New(env, state->architecture));
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
    info.Set("nDevices",     Napi::Number::New(env, (double) state->n_devices));
    info.Set("addBos",       Napi::Boolean::New(env, has_tokenizer && llama_vocab_get_add_bos(vocab)));

    return info;
}

} // namespace addon
