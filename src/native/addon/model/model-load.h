// Loading a GGUF file on a thread of its own.

#pragma once

#include "adapters.h"
#include "kv-overrides.h"
#include "model-devices.h"
#include "model-files.h"
#include "tensor-places.h"
#include "runtime/job.h"

#include "llama.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <string>

namespace addon {

// contexts share the weights with the model object; the last owner frees them
using model_ptr = std::shared_ptr<llama_model>;

struct model_options {
    std::string path;
    int         n_gpu_layers = -1; // negative: llama.cpp's default
    std::string load_mode    = "auto";

    device_options            devices;
    std::vector<tensor_place> places;
    kv_overrides              overrides;
    std::vector<lora_options> loras;
};

model_options model_options_from_js(const Napi::Object & object);

// what the JavaScript object and its load job share
struct model_state {
    model_ptr          model;
    std::atomic<float> progress{0.0f};
    bool               on_gpu = false; // some layers may be on a device
    double             n_positions = INFINITY; // that the model has embeddings for, if it learned them
    uint64_t           fingerprint = 0; // of the file, the overrides and the adapters
    std::string        architecture;
    bool               causal      = true; // attention is
    size_t             n_devices   = 0; // that it may be spread over
    model_adapters     adapters;
};

class model_load_job : public job {
public:
    model_load_job(Napi::Env env, model_options options, std::shared_ptr<model_state> state);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    static bool on_progress(float progress, void * self);

    void check(const gguf_head & head) const;
    void require_room(const gguf_head & head, llama_load_mode mode) const;

    // throws what is the reason that there is no model
    void load(const std::optional<gguf_head> & head, const model_devices & devices, llama_model_params params);

    model_options                options;
    std::shared_ptr<model_state> state;
};

// a metadata value of the GGUF as text, "" if it has none
std::string model_meta(const llama_model * model, const std::string & key);

// like model_meta, for a key below the architecture's name: "attention.key_length"
std::string model_arch_meta(const llama_model * model, const std::string & key);

} // namespace addon
