// Tensors that a file can lack, and types that no multiplication takes: llama.cpp calls what is not there.

#include "model-rules.h"

#include <ggml.h>

#include <algorithm>
#include <iterator>

namespace addon {

static const ggml_type no_weights[] = {
    GGML_TYPE_Q8_1, GGML_TYPE_Q8_K, // what activations are turned into
    GGML_TYPE_I8, GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64, GGML_TYPE_F64,
};

// of these, llama.cpp takes a file without a first layer for a drafter, which reads what another model computed
static const char * const drafters[] = {
    "bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "deepseek4", "glm-dsa", "glm4moe", "hy_v3", "nemotron_h",
    "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next", "step35",
};

static bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::optional<model_finding> check_weight_types(const model_facts & facts) {
    for (const auto & [name, shape] : facts.head.tensors) {
        // a table of ids and not of weights
        const bool is_table = name.find("tid2eid") != std::string::npos;

        if ((ends_with(name, ".weight") || ends_with(name, ".bias")) && !is_table &&
            std::find(std::begin(no_weights), std::end(no_weights), shape.type) != std::end(no_weights)) {
            return model_finding{ name, ggml_type_name((ggml_type) shape.type), "is no type for weights" };
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_trunk(const model_facts & facts) {
    const gguf_value * n_files = facts.head.find("split.count"); // the first layer may be in another

    if (!(facts.number("nextn_predict_layers") > 0) || !is_among(drafters, facts.arch) ||
        facts.head.find_tensor("blk.0.attn_norm.weight") || (n_files && n_files->number() > 1)) {
        return std::nullopt;
    }
    return facts.finding("nextn_predict_layers", "counts all layers of this file; the model that they belong to is in another");
}

} // namespace addon
