// Checks an adapter's file for what llama.cpp asserts on, or uses without a check.

#include "model-rules.h"

#include <ggml.h>
#include <gguf.h>

namespace addon {

std::optional<model_finding> check_adapter_keys(const model_facts & facts) {
    for (const char * key : { "general.type", "general.architecture", "adapter.type" }) {
        const gguf_value * value = facts.head.find(key);
        if (value && (value->is_array || !value->is_string())) {
            return model_finding{ key, model_facts::value_text(value), "must be a text" };
        }
    }

    constexpr const char * alpha = "adapter.lora.alpha";
    const gguf_value * value = facts.head.find(alpha);
    if (value && (value->is_array || value->type != GGUF_TYPE_FLOAT32 || !std::isfinite(value->number()))) {
        return model_finding{ alpha, model_facts::value_text(value), "must be a number of 32-bit floating point" };
    }

    constexpr const char * alora = "adapter.alora.invocation_tokens";
    if (facts.head.find(alora)) {
        return model_finding{ alora, model_facts::value_text(facts.head.find(alora)),
            "makes it an activated LoRA, which acts behind these tokens only: that is not supported" };
    }
    return std::nullopt;
}

std::optional<model_finding> check_adapter_tensors(const model_facts & facts) {
    for (const auto & [name, shape] : facts.head.tensors) {
        if (is_no_weight(shape.type)) {
            return model_finding{ name, ggml_type_name((ggml_type) shape.type), "is no type for weights" };
        }
        for (const uint64_t n : shape.ne) {
            if (n == 0) {
                return model_finding{ name, "0", "is no extent of a tensor" };
            }
        }
    }
    return std::nullopt;
}

} // namespace addon
