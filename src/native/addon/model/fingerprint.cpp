#include "fingerprint.h"

#include "model-check/gguf-head.h"
#include "model-files.h"
#include "model-load.h"
#include "runtime/failure.h"
#include "runtime/hash.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

namespace addon {

static constexpr uint64_t n_pieces    = 512;
static constexpr uint64_t size_pieces = 32 * 1024; // of each

// tensors of so many bytes are read as a whole, of others the beginning
static constexpr uint64_t size_small = 64 * 1024;
static constexpr uint64_t size_begin = 4 * 1024;

static uint64_t hash_file(const std::string & path, uint64_t n, uint64_t hash) {
    std::ifstream file(std::filesystem::u8path(path), std::ios::binary | std::ios::ate);

    const uint64_t size = file ? (uint64_t) file.tellg() : 0;
    const uint64_t step = std::max(size / n, size_pieces);

    hash = hash_bytes(&size, sizeof(size), hash);

    std::vector<char> piece(std::max(size_pieces, size_small));

    const auto add = [&](uint64_t offset, uint64_t n_bytes) {
        if (!file || offset >= size) {
            return;
        }
        n_bytes = std::min(n_bytes, size - offset);
        file.seekg((std::streamoff) offset);
        file.read(piece.data(), (std::streamsize) n_bytes);
        hash = hash_bytes(piece.data(), n_bytes, hash);
    };
    for (uint64_t offset = 0; offset < size; offset += step) {
        add(offset, size_pieces);
    }
    // pieces alone miss a change of norms and biases
    if (const std::optional<gguf_head> head = gguf_head_read(path)) {
        for (const auto & [name, tensor] : head->tensors) {
            const double n_bytes = tensor.n_bytes();
            add(head->data_offset + tensor.offset, n_bytes <= size_small ? (uint64_t) n_bytes : size_begin);
        }
    }

    if (!file) {
        throw failure("ERR_H2O_MODEL_INVALID", "the file cannot be read again", {{"path", path}});
    }
    return hash;
}

uint64_t fingerprint_of(const llama_model * model, const std::string & path) {
    const auto files = model_files(path, atoi(model_meta(model, "split.count").c_str()));

    uint64_t hash = hash_start;
    for (const std::string & file : files) {
        hash = hash_file(file, std::max<uint64_t>(1, n_pieces / files.size()), hash);
    }
    return hash;
}

uint64_t fingerprint_of_file(const std::string & path, uint64_t hash) {
    return hash_file(path, n_pieces, hash);
}

} // namespace addon
