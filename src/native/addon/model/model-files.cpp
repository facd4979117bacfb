#include "model-files.h"

#include "llama.h"

#include <gguf.h>

#include <filesystem>
#include <system_error>

namespace addon {

std::vector<std::string> model_files(const std::string & path, int n_split) {
    std::vector<char> prefix(path.size() + 1);
    if (n_split < 2 || llama_split_prefix(prefix.data(), prefix.size(), path.c_str(), 0, n_split) <= 0) {
        return { path };
    }

    std::vector<std::string> files;
    for (int i = 0; i < n_split; ++i) {
        std::vector<char> file(path.size() + 64);
        llama_split_path(file.data(), file.size(), prefix.data(), i, n_split);
        files.push_back(file.data());
    }
    return files;
}

failure model_invalid(const std::string & path, const model_finding & found) {
    return failure("ERR_H2O_MODEL_INVALID", found.key + " (" + found.value + ") " + found.problem,
        {{"path", path}, {"key", found.key}, {"value", found.value}});
}

static void require(const std::string & path, const std::optional<model_finding> & found, const std::string & part) {
    if (found) {
        throw model_invalid(path, { found->key, found->value, found->problem + part });
    }
}

// of another type it is refused by llama.cpp
static int split_count(const gguf_head & head) {
    const gguf_value * count = head.find("split.count");
    return count && !count->is_array && count->type == GGUF_TYPE_UINT16 ? (int) count->number() : 1;
}

static void add_part(gguf_head & head, const std::string & file, int i, int n_split) {
    const std::string of_part = ", in " + file;
    std::error_code   ignored;

    // a pipe would be waited for
    const bool is_file = std::filesystem::is_regular_file(std::filesystem::u8path(file), ignored);

    auto part = is_file ? gguf_head_read(file) : std::nullopt;
    if (!part) {
        throw model_invalid(file, { "split.count", std::to_string(n_split), "needs " + file +
            ", which is missing, or no GGUF file, or damaged" });
    }
    require(file, split_check(head, *part, i), of_part);
    require(file, file_check(*part), of_part);

    head.tensors.merge(part->tensors);
    head.n_bytes      += part->n_bytes;
    head.can_be_mapped = head.can_be_mapped && part->can_be_mapped;
}

std::optional<gguf_head> model_head(const std::string & path) {
    auto head = gguf_head_read(path);
    if (!head) {
        return head;
    }
    require(path, file_check(*head), "");

    const int n_split = split_count(*head);
    if (n_split < 2) {
        return head;
    }
    require(path, split_check(*head, *head, 0), "");

    const auto files = model_files(path, n_split);
    if (files.size() == 1) {
        char name[32];
        snprintf(name, sizeof(name), "-%05d-of-%05d.gguf", 1, n_split);
        throw model_invalid(path, { "split.count", std::to_string(n_split), "asks for a file whose name ends in " +
            std::string(name) + ", with the other parts beside it" });
    }
    for (int i = 1; i < n_split; ++i) {
        add_part(*head, files[i], i, n_split);
    }
    require(path, split_check_whole(*head), "");

    return head;
}

} // namespace addon
