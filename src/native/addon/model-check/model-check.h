// What is wrong with a model's metadata, said before llama.cpp sees the file: there, most of it is a GGML_ASSERT, and
// some of it work without end. Every rule is about a value that no model can have; what is merely odd passes.

#pragma once

#include "gguf-head.h"

#include <optional>
#include <string>

namespace addon {

struct model_finding {
    std::string key;     // of the metadata, or a tensor's name
    std::string value;   // as text
    std::string problem; // "must be at least 1"
};

// of one file of a model
std::optional<model_finding> file_check(const gguf_head & head);

// of part `i` of a split model, given the first part's metadata and the tensors of those before this one
std::optional<model_finding> split_check(const gguf_head & before, const gguf_head & part, int i);

// of all parts together
std::optional<model_finding> split_check_whole(const gguf_head & head);

// before the load, with the tensors of all files
std::optional<model_finding> model_check(const std::string & path, const gguf_head & head);

// of an adapter's file: what is wrong whatever it is put on
std::optional<model_finding> adapter_check(const gguf_head & head);

// after llama.cpp refused: what takes too long to look for in a healthy model
std::optional<model_finding> model_check_failed(const std::string & path);

} // namespace addon
