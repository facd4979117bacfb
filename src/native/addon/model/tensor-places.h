// Where single tensors go, as llama.cpp's --override-tensor: the first pattern that is found in a name decides.
//
// llama.cpp asks std::regex for every tensor. That recurses as deep as the pattern likes, and can take for ever. So
// names are matched here, by the algorithm that takes polynomial time and on a stack that is deep enough, and llama.cpp
// gets patterns that list the names.

#pragma once

#include "model-files.h"

#include "llama.h"

#include <napi.h>

#include <string>
#include <vector>

namespace addon {

struct tensor_place {
    std::string pattern; // std::regex, ECMAScript
    std::string buffer;  // name of a buffer type: "CPU", "CUDA0"
};

std::vector<tensor_place> tensor_places_from_js(const Napi::Value & list);

class tensor_places {
public:
    // throws ERR_H2O_INVALID_ARGUMENT for an invalid regular expression and for an unknown buffer
    tensor_places(const std::vector<tensor_place> & places, const tensor_shapes & tensors);

    // ends with null; points into this object
    const llama_model_tensor_buft_override * data() const { return list.data(); }

private:
    std::vector<std::string>                      patterns;
    std::vector<llama_model_tensor_buft_override> list;
};

} // namespace addon
