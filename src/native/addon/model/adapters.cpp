#include "adapters.h"

#include "fingerprint.h"
#include "model-check/model-check.h"
#include "runtime/failure.h"
#include "runtime/hash.h"
#include "runtime/log.h"
#include "runtime/values.h"

#include <ggml.h>

namespace addon {

std::vector<lora_options> lora_options_from_js(const Napi::Value & value) {
    std::vector<lora_options> options;
    for (uint32_t i = 0; value.IsArray() && i < value.As<Napi::Array>().Length(); ++i) {
        const Napi::Object object = value.As<Napi::Array>().Get(i).As<Napi::Object>();
        options.push_back({ get_string(object, "path", ""), (float) get_number(object, "scale", 1.0) });
    }
    return options;
}

static failure adapter_invalid(const std::string & path, const std::string & what, const std::string & why) {
    return failure("ERR_H2O_ADAPTER_INVALID", "the adapter " + path + " cannot be used: " + what + " " + why,
        {{"path", path}, {"key", what}});
}

static const char * base_token_embd = "token_embd.weight";

// llama.cpp compares the first two extents, and multiplies with all of them
static void check_pair(
        const std::string & path, const std::string & base, const tensor_shapes & tensors,
        const gguf_tensor_shape & a, const gguf_tensor_shape & b) {
    const auto model = tensors.find(base);
    if (model == tensors.end()) {
        throw adapter_invalid(path, base, "is no tensor of the model; it belongs to another one");
    }
    const gguf_tensor_shape & w = model->second;

    const bool is_embd = base == base_token_embd;
    const bool fits    = is_embd
        ? w.ne[0] == b.ne[1] && w.ne[1] == a.ne[1] && a.ne[0] == b.ne[0]
        : w.ne[0] == a.ne[0] && w.ne[1] == b.ne[1] && a.ne[1] == b.ne[0];

    for (int i = 2; i < 4; ++i) {
        if (a.ne[i] != w.ne[i] || b.ne[i] != w.ne[i]) {
            throw adapter_invalid(path, base, "has another shape in the model; it belongs to another one");
        }
    }
    if (!fits) {
        throw adapter_invalid(path, base, "has another shape in the model; it belongs to another one");
    }
    if (w.type == GGML_TYPE_NVFP4) {
        throw adapter_invalid(path, base, "is NVFP4 in the model, which takes no adapter");
    }
    if (is_embd && tensors.find("output.weight") == tensors.end()) {
        throw adapter_invalid(path, base, "is the output of the model, too, where this does not fit");
    }
}

static void check_adapter(const lora_options & option, const tensor_shapes & tensors) {
    const auto head = gguf_head_read(option.path);
    if (!head) {
        throw adapter_invalid(option.path, "it", "is not a GGUF file, or damaged");
    }
    if (const auto found = adapter_check(*head)) {
        throw adapter_invalid(option.path, found->key, "(" + found->value + ") " + found->problem);
    }

    const std::string end = ".lora_a";
    for (const auto & [name, a] : head->tensors) {
        if (name.size() <= end.size() || name.compare(name.size() - end.size(), end.size(), end) != 0) {
            continue;
        }
        const std::string base = name.substr(0, name.size() - end.size());
        if (const auto * b = head->find_tensor(base + ".lora_b")) {
            check_pair(option.path, base, tensors, a, *b);
        }
    }
}

void model_adapters::load(
        llama_model * model, const tensor_shapes & tensors, const std::vector<lora_options> & given) {
    for (const lora_options & option : given) {
        check_adapter(option, tensors);

        log_capture log;
        llama_adapter_lora * adapter = llama_adapter_lora_init(model, option.path.c_str());
        if (!adapter) {
            const bool memory = log.is_about_memory();
            throw failure(memory ? "ERR_H2O_CONTEXT_MEMORY" : "ERR_H2O_ADAPTER_INVALID",
                "the adapter " + option.path + " cannot be used", {{"path", option.path}, {"log", log.text()}});
        }
        options.push_back(option);
        adapters.push_back(adapter);
        scales.push_back(option.scale);
    }
}

void model_adapters::apply(llama_context * ctx) const {
    std::vector<llama_adapter_lora *> list = adapters;
    std::vector<float>                of_each = scales;
    if (!list.empty()) {
        llama_set_adapters_lora(ctx, list.data(), list.size(), of_each.data());
    }
}

uint64_t model_adapters::fingerprint(uint64_t hash) const {
    for (const lora_options & option : options) {
        hash = fingerprint_of_file(option.path, hash_bytes(&option.scale, sizeof(option.scale), hash));
    }
    return hash;
}

} // namespace addon
