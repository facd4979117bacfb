// The files of a model, one or the parts of a split one, and what tensors they hold.

#pragma once

#include "model-check/gguf-head.h"

#include <map>
#include <string>
#include <vector>

namespace addon {

using tensor_shapes = std::map<std::string, gguf_tensor_shape, std::less<>>;

// `n_split` as the first file's metadata has it: split.count
std::vector<std::string> model_files(const std::string & path, int n_split);

// of all files; of one that cannot be read none, which llama.cpp refuses
tensor_shapes model_tensors(const std::string & path, const gguf_head & head);

} // namespace addon
