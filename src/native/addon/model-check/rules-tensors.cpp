// Types that a file can name and no multiplication takes: llama.cpp calls a kernel that is not there. And tensors
// that end behind the end of their file: llama.cpp does not say which of several files that is.

#include "model-rules.h"

#include <ggml.h>

#include <algorithm>
#include <iterator>

namespace addon {

static const ggml_type no_weights[] = {
    GGML_TYPE_Q8_1, GGML_TYPE_Q8_K, // what activations are turned into
    GGML_TYPE_I8, GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64, GGML_TYPE_F64,
};

bool is_no_weight(int32_t type) {
    return std::find(std::begin(no_weights), std::end(no_weights), type) != std::end(no_weights);
}

static bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::optional<model_finding> check_weight_types(const model_facts & facts) {
    for (const auto & [name, shape] : facts.head.tensors) {
        // a table of ids and not of weights
        const bool is_table = name.find("tid2eid") != std::string::npos;

        if ((ends_with(name, ".weight") || ends_with(name, ".bias")) && !is_table &&
            is_no_weight(shape.type)) {
            return model_finding{ name, ggml_type_name((ggml_type) shape.type), "is no type for weights" };
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_extents(const model_facts & facts) {
    const double n_bytes = (double) facts.head.n_bytes;

    for (const auto & [name, shape] : facts.head.tensors) {
        const double end = (double) facts.head.data_offset + (double) shape.offset + shape.n_bytes();
        if (end > n_bytes) {
            return model_finding{ name, "missing in part", "would end at byte " + std::to_string((uint64_t) end) +
                " of a file of " + std::to_string(facts.head.n_bytes) + ", which is incomplete" };
        }
    }
    return std::nullopt;
}

} // namespace addon
