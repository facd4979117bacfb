// The metadata as the rules ask for it: keys without the architecture's name, numbers, numbers per layer.

#pragma once

#include "model-check.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace addon {

class model_facts {
public:
    explicit model_facts(const gguf_head & head) : head(head) {
        if (const gguf_value * name = head.find("general.architecture")) {
            arch = std::string(name->text());
        }
    }

    // "block_count" -> "llama.block_count"
    std::string key_of(std::string_view key) const { return arch + "." + std::string(key); }

    const gguf_value * find(std::string_view key) const { return head.find(key_of(key)); }

    // NaN if there is none
    double number(std::string_view key) const { return number(key, NAN); }

    double number(std::string_view key, double otherwise) const {
        const gguf_value * value = find(key);
        return value && value->n > 0 ? value->number() : otherwise;
    }

    // of one layer, where the key may hold one number for all of them
    double number_at(std::string_view key, size_t il, double otherwise) const {
        const gguf_value * value = find(key);
        return value && value->n > 0 ? value->number(value->is_array ? il : 0) : otherwise;
    }

    double largest(std::string_view key, double otherwise) const {
        const gguf_value * value = find(key);
        if (!value || value->n == 0) {
            return otherwise;
        }
        double n_max = value->number();
        for (size_t i = 1; i < value->n; ++i) {
            n_max = std::fmax(n_max, value->number(i));
        }
        return n_max;
    }

    // the size of a head: given, or the embedding over the heads; NaN if the model has no attention in its first layer
    double head_size(std::string_view key) const {
        const double n_head = number("attention.head_count");
        return n_head > 0 ? number(key, std::floor(number("embedding_length") / n_head)) : NAN;
    }

    model_finding finding(std::string_view key, std::string problem) const {
        return { key_of(key), value_text(find(key)), std::move(problem) };
    }

    static std::string value_text(const gguf_value * value);

    const gguf_head & head;
    std::string       arch;
};

// whether a list of architectures or words has this one
template <size_t N>
bool is_among(const char * const (&names)[N], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// "8", "0.5", "-inf"
std::string number_text(double number);

} // namespace addon
