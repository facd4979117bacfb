// The head of a GGUF file, read for the checks: every key with its value, every tensor with its shape.
//
// A reader of our own and not ggml's: it walks over the strings of a big vocabulary without making an object of each,
// so that a healthy model loads as fast as without it. What it cannot read it leaves to llama.cpp, which says why.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace addon {

// numbers are kept as they are in the file; strings in one piece
struct gguf_value {
    int32_t     type     = 0; // gguf_type, of the elements of an array
    bool        is_array = false;
    uint64_t    n        = 1;
    std::string bytes;

    std::vector<size_t> ends; // of each string in bytes

    bool is_string() const;

    double           number(size_t i = 0) const; // NaN if it is none
    std::string_view text  (size_t i = 0) const;
};

struct gguf_tensor_shape {
    uint64_t ne[4] = { 1, 1, 1, 1 };
    int32_t  type   = 0; // ggml_type
    uint64_t offset = 0; // of its data, from data_offset

    // 0 for a type that is none, which llama.cpp refuses
    double n_bytes() const;
};

using tensor_shapes = std::map<std::string, gguf_tensor_shape, std::less<>>;

struct gguf_head {
    std::map<std::string, gguf_value, std::less<>> values;
    tensor_shapes                                  tensors;

    uint64_t data_offset = 0; // where the tensors' data begins
    uint64_t n_bytes     = 0; // of the file

    // ggml asserts that a buffer over mapped memory begins at such an address; the format asks for less
    bool can_be_mapped = false;

    const gguf_value        * find       (std::string_view key)  const;
    const gguf_tensor_shape * find_tensor(std::string_view name) const;
};

// nothing if the file is not a GGUF file, is damaged, or has another byte order; without `with_tokens` it has their
// number only
std::optional<gguf_head> gguf_head_read(const std::string & path, bool with_tokens = false);

} // namespace addon
