#include "tensor-places.h"

#include "runtime/deep-stack.h"
#include "runtime/failure.h"
#include "runtime/values.h"

#include <ggml-backend.h>

#include <regex>
#include <set>

namespace addon {

using buffer_type = ggml_backend_buffer_type_t;

std::vector<tensor_place> tensor_places_from_js(const Napi::Value & value) {
    std::vector<tensor_place> places;
    if (!value.IsArray()) {
        return places;
    }
    const Napi::Array array = value.As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); ++i) {
        const Napi::Object object = array.Get(i).As<Napi::Object>();
        places.push_back({ get_string(object, "pattern", ""), get_string(object, "buffer", "") });
    }
    return places;
}

static buffer_type buffer_by_name(const std::string & name) {
    std::string known;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        const buffer_type buft = ggml_backend_dev_buffer_type(ggml_backend_dev_get(i));
        if (buft && name == ggml_backend_buft_name(buft)) {
            return buft;
        }
        if (buft) {
            known += (known.empty() ? "" : ", ") + std::string(ggml_backend_buft_name(buft));
        }
    }
    throw failure("ERR_H2O_INVALID_ARGUMENT",
        "overrideTensors: there is no buffer type " + name + "; there are: " + known,
        {{"buffer", name}, {"buffers", known}});
}

static std::regex compile(const std::string & pattern) {
    auto flags = std::regex::ECMAScript;
#ifdef __GLIBCXX__
    flags |= std::regex_constants::__polynomial; // refuses back-references
#endif
    try {
        return std::regex(pattern, flags);
    } catch (const std::regex_error & err) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "overrideTensors: " + pattern + " is not a valid pattern: " + err.what(),
            {{"pattern", pattern}});
    }
}

using names_by_buffer = std::map<buffer_type, std::set<std::string>>;

static names_by_buffer match(const std::vector<tensor_place> & places, const tensor_shapes & tensors) {
    std::vector<std::pair<std::regex, buffer_type>> rules;
    for (const tensor_place & place : places) {
        rules.emplace_back(compile(place.pattern), buffer_by_name(place.buffer));
    }

    names_by_buffer found;
    for (const auto & tensor : tensors) {
        for (const auto & [pattern, buft] : rules) {
            if (std::regex_search(tensor.first, pattern)) {
                found[buft].insert(tensor.first);
                break;
            }
        }
    }
    return found;
}

static std::string escaped(const std::string & text) {
    std::string out;
    for (const char c : text) {
        if (strchr("^$\\.*+?()[]{}|/", c)) {
            out += '\\';
        }
        out += c;
    }
    return out;
}

static std::string any_of(const std::set<std::string> & texts) {
    std::string out;
    for (const std::string & text : texts) {
        out += (out.empty() ? "" : "|") + text;
    }
    return "(?:" + out + ")";
}

// "blk.7.ffn_up.weight" is found by its layer, and layers with the same tensors share a pattern: llama.cpp compiles
// every pattern once for each tensor
static std::vector<std::string> patterns_of(const std::set<std::string> & names) {
    std::map<std::string, std::set<std::string>> layers_by_rest;

    std::vector<std::string> patterns;
    for (const std::string & name : names) {
        const size_t end = name.find('.', 4);
        if (name.compare(0, 4, "blk.") == 0 && end != std::string::npos) {
            layers_by_rest[escaped(name.substr(end))].insert(escaped(name.substr(4, end - 4)));
        } else {
            patterns.push_back("^" + escaped(name) + "$");
        }
    }

    std::map<std::set<std::string>, std::set<std::string>> rests_by_layers;
    for (const auto & [rest, layers] : layers_by_rest) {
        rests_by_layers[layers].insert(rest);
    }
    for (const auto & [layers, rests] : rests_by_layers) {
        patterns.push_back("^blk\\." + any_of(layers) + any_of(rests) + "$");
    }
    return patterns;
}

tensor_places::tensor_places(const std::vector<tensor_place> & places, const tensor_shapes & tensors) {
    // a frame for every state of a pattern, of which there are 100000 at most
    constexpr size_t n_stack = 128u << 20;

    names_by_buffer found;
    if (!places.empty() && !run_on_stack(n_stack, [&] { found = match(places, tensors); })) {
        throw failure("ERR_H2O_THREAD_LIMIT", "there is no thread to match the names of tensors on");
    }

    std::vector<buffer_type> bufts;
    for (const auto & [buft, names] : found) {
        for (std::string & pattern : patterns_of(names)) {
            patterns.push_back(std::move(pattern));
            bufts.push_back(buft);
        }
    }
    for (size_t i = 0; i < patterns.size(); ++i) {
        list.push_back({ patterns[i].c_str(), bufts[i] });
    }
    list.push_back({ nullptr, nullptr });
}

} // namespace addon
