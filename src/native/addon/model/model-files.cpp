#include "model-files.h"

#include "llama.h"

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

tensor_shapes model_tensors(const std::string & path, const gguf_head & head) {
    const gguf_value * count   = head.find("split.count");
    const double       n_split = count && count->n > 0 ? count->number() : 1;

    tensor_shapes tensors = head.tensors;
    for (const std::string & file : model_files(path, n_split > 1 && n_split < 65536 ? (int) n_split : 1)) {
        if (file == path) {
            continue;
        }
        if (const auto part = gguf_head_read(file)) {
            tensors.insert(part->tensors.begin(), part->tensors.end());
        }
    }
    return tensors;
}

} // namespace addon
