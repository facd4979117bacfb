#include "fingerprint.h"

#include "model-files.h"
#include "model-load.h"
#include "runtime/failure.h"
#include "runtime/hash.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace addon {

static constexpr uint64_t n_pieces    = 512;
static constexpr uint64_t size_pieces = 32 * 1024; // of each

static uint64_t hash_file(const std::string & path, uint64_t n, uint64_t hash) {
    std::ifstream file(std::filesystem::u8path(path), std::ios::binary | std::ios::ate);

    const uint64_t size = file ? (uint64_t) file.tellg() : 0;
    const uint64_t step = std::max(size / n, size_pieces);

    hash = hash_bytes(&size, sizeof(size), hash);

    std::vector<char> piece(size_pieces);
    for (uint64_t offset = 0; file && offset < size; offset += step) {
        const uint64_t n_bytes = std::min(size_pieces, size - offset);
        file.seekg((std::streamoff) offset);
        file.read(piece.data(), (std::streamsize) n_bytes);
        hash = hash_bytes(piece.data(), n_bytes, hash);
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
