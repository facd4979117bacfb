// What a model is spread over: devices, how it is split among them, and which tensors go elsewhere.

#pragma once

#include "llama.h"

#include <ggml-backend.h>
#include <napi.h>

#include <string>
#include <vector>

namespace addon {

struct device_options {
    bool                     is_given = false; // devices, which may be none
    std::vector<std::string> devices;
    std::string              split_mode = "layer";
    int                      main_gpu   = 0;
    std::vector<float>       tensor_split;
    std::vector<std::string> rpc; // servers, whose devices come first
};

device_options device_options_from_js(const Napi::Object & object);

class model_devices {
public:
    // throws ERR_H2O_INVALID_ARGUMENT for what llama.cpp refuses, or leaves to a division by zero,
    // ERR_H2O_RPC for a server
    explicit model_devices(const device_options & options);

    // of the model; 0: all of it stays on the CPU
    size_t count() const { return n_devices; }

    // `params` points into this object
    void apply(llama_model_params & params) const;

private:
    bool                            is_given;
    std::vector<ggml_backend_dev_t> devices; // ends with null
    std::vector<float>              tensor_split;
    llama_split_mode                split_mode;
    int                             main_gpu;
    size_t                          n_devices = 0;
};

} // namespace addon
