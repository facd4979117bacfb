// The files of a model, one or the parts of a split one, and what they say together.

#pragma once

#include "model-check/model-check.h"
#include "runtime/failure.h"

#include <optional>
#include <string>
#include <vector>

namespace addon {

// `n_split` as the first file's metadata has it: split.count
std::vector<std::string> model_files(const std::string & path, int n_split);

// The first file's head with the tensors and the bytes of all of them. Nothing if the first file cannot be read, which
// llama.cpp refuses; throws model_invalid for a part that is not one of this model
std::optional<gguf_head> model_head(const std::string & path);

failure model_invalid(const std::string & path, const model_finding & found);

} // namespace addon
