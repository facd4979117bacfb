// What the parts of a split model say of each other.

#include "model-rules.h"

#include <gguf.h>

namespace addon {

static std::optional<model_finding> finding(const char * key, const gguf_value * value, std::string problem) {
    return model_finding{ key, model_facts::value_text(value), std::move(problem) };
}

std::optional<model_finding> split_check(const gguf_head & before, const gguf_head & part, int i) {
    const gguf_value * no = part.find("split.no");

    // llama.cpp asserts on the type
    if (!no || no->is_array || no->type != GGUF_TYPE_UINT16 || no->number() != i) {
        return finding("split.no", no, i == 0 ? "must be 0: a model is loaded by its first part"
                                              : "must be " + std::to_string(i) + ", as a number of 16 bits without sign");
    }
    for (const char * key : { "split.count", "split.tensors.count" }) {
        const gguf_value * value = part.find(key);
        const std::string  first = model_facts::value_text(before.find(key));

        if (value && model_facts::value_text(value) != first) {
            return finding(key, value, "must be that of the first part, which is " + first);
        }
    }
    for (const auto & [name, shape] : part.tensors) {
        if (i > 0 && before.find_tensor(name)) {
            return model_finding{ name, "twice", "must not be in a part before this one, too" };
        }
    }
    return check_extents(model_facts(part));
}

std::optional<model_finding> split_check_whole(const gguf_head & head) {
    const gguf_value * count = head.find("split.tensors.count");

    if (count && count->number() != (double) head.tensors.size()) {
        return finding("split.tensors.count", count, "must be the number of tensors in all parts, which is " +
            std::to_string(head.tensors.size()) + ": one of them is incomplete, or of another model");
    }
    return std::nullopt;
}

} // namespace addon
