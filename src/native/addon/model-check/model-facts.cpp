#include "model-facts.h"

#include <algorithm>
#include <cstdio>

namespace addon {

std::string number_text(double number) {
    char text[32];
    snprintf(text, sizeof(text), "%.9g", number);
    return text;
}

std::string model_facts::value_text(const gguf_value * value) {
    if (!value) {
        return "missing";
    }

    constexpr size_t n_shown = 8;

    std::string text;
    for (size_t i = 0; i < std::min<uint64_t>(value->n, n_shown); ++i) {
        text += i > 0 ? ", " : "";
        text += value->is_string() ? std::string(value->text(i).substr(0, 64)) : number_text(value->number(i));
    }
    if (!value->is_array) {
        return text;
    }
    return "[" + text + (value->n > n_shown ? ", ..." : "") + "] (" + std::to_string(value->n) + " values)";
}

} // namespace addon
