// LoRA adapters: loaded with a model, before any of its contexts, and owned by it. Every context applies all of them.

#pragma once

#include "model-files.h"

#include "llama.h"

#include <napi.h>

#include <string>
#include <vector>

namespace addon {

struct lora_options {
    std::string path;
    float       scale = 1.0f;
};

std::vector<lora_options> lora_options_from_js(const Napi::Value & list);

class model_adapters {
public:
    // Throws ERR_H2O_ADAPTER_INVALID for a file that is broken, or belongs to another model with other `tensors`
    void load(llama_model * model, const tensor_shapes & tensors, const std::vector<lora_options> & options);

    void apply(llama_context * ctx) const;

    // of a model with these adapters; goes on from `hash`
    uint64_t fingerprint(uint64_t hash) const;

private:
    std::vector<lora_options>         options;
    std::vector<llama_adapter_lora *> adapters; // the model frees them
    std::vector<float>                scales;
};

} // namespace addon
