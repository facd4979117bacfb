#include "model-devices.h"

#include "rpc.h"
#include "runtime/failure.h"
#include "runtime/values.h"

#include <algorithm>
#include <numeric>

namespace addon {

device_options device_options_from_js(const Napi::Object & object) {
    device_options o;

    o.is_given     = object.Get("devices").IsArray();
    o.devices      = get_strings(object, "devices");
    o.split_mode   = get_string(object, "splitMode", o.split_mode);
    o.main_gpu     = (int) get_number(object, "mainGpu", o.main_gpu);
    o.tensor_split = get_floats(object, "tensorSplit");
    o.rpc          = get_strings(object, "rpc");

    return o;
}

static failure invalid(const std::string & message, std::vector<failure_detail> details) {
    return failure("ERR_H2O_INVALID_ARGUMENT", message, std::move(details));
}

static std::string names_of_devices() {
    std::string names;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        const ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(dev) != GGML_BACKEND_DEVICE_TYPE_CPU) {
            names += (names.empty() ? "" : ", ") + std::string(ggml_backend_dev_name(dev));
        }
    }
    return names;
}

static ggml_backend_dev_t device_by_name(const std::string & name) {
    const ggml_backend_dev_t dev = ggml_backend_dev_by_name(name.c_str());
    if (!dev || ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_CPU) {
        const std::string known = names_of_devices();
        throw invalid("there is no device " + name + " to offload to; there " +
            (known.empty() ? "is none" : "are: " + known), {{"device", name}, {"devices", known}});
    }
    return dev;
}

// that llama.cpp takes where none is named
static size_t count_gpus() {
    size_t n_gpu  = 0;
    size_t n_igpu = 0;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        const auto type = ggml_backend_dev_type(ggml_backend_dev_get(i));
        n_gpu  += type == GGML_BACKEND_DEVICE_TYPE_GPU;
        n_igpu += type == GGML_BACKEND_DEVICE_TYPE_IGPU;
    }
    return n_gpu > 0 ? n_gpu : n_igpu;
}

static void add_local_gpus(std::vector<ggml_backend_dev_t> & devices) {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        const ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_GPU) {
            devices.push_back(dev);
        }
    }
}

static llama_split_mode split_mode_of(const std::string & name) {
    return name == "none" ? LLAMA_SPLIT_MODE_NONE :
           name == "row"  ? LLAMA_SPLIT_MODE_ROW  :
           name == "tensor" ? LLAMA_SPLIT_MODE_TENSOR : LLAMA_SPLIT_MODE_LAYER;
}

model_devices::model_devices(const device_options & options) :
    is_given(options.is_given), tensor_split(options.tensor_split),
    split_mode(split_mode_of(options.split_mode)), main_gpu(options.main_gpu) {
    devices = rpc_devices(options.rpc);
    if (!is_given && !devices.empty()) {
        is_given = true;
        add_local_gpus(devices);
    }
    for (const std::string & name : options.devices) {
        const ggml_backend_dev_t dev = device_by_name(name);
        if (std::find(devices.begin(), devices.end(), dev) != devices.end()) {
            throw invalid("the device " + name + " is named twice", {{"device", name}});
        }
        devices.push_back(dev);
    }
    n_devices = is_given ? devices.size() : count_gpus();
    devices.push_back(nullptr);

    if (split_mode == LLAMA_SPLIT_MODE_TENSOR && n_devices == 0) {
        throw invalid("splitMode 'tensor' needs a device to offload to", {{"splitMode", options.split_mode}});
    }
    if (n_devices > 0 && (size_t) main_gpu >= n_devices) {
        throw invalid("mainGpu is above the last device",
            {{"mainGpu", (double) main_gpu}, {"devices", (double) n_devices}});
    }
    if (tensor_split.size() >= llama_max_devices()) {
        throw invalid("tensorSplit has more shares than there can be devices",
            {{"shares", (double) tensor_split.size()}, {"devices", (double) llama_max_devices()}});
    }
    tensor_split.resize(llama_max_devices(), 0.0f);

    const auto  end  = tensor_split.begin() + std::min(n_devices, tensor_split.size());
    const float used = std::accumulate(tensor_split.begin(), end, 0.0f);
    const float all  = std::accumulate(end, tensor_split.end(), used);
    if (n_devices > 0 && used == 0.0f && all > 0.0f) {
        throw invalid("tensorSplit gives nothing to the devices that there are", {{"devices", (double) n_devices}});
    }
}

void model_devices::apply(llama_model_params & params) const {
    params.devices      = is_given ? const_cast<ggml_backend_dev_t *>(devices.data()) : nullptr;
    params.split_mode   = split_mode;
    params.main_gpu     = main_gpu;
    params.tensor_split = tensor_split.data();
}

} // namespace addon
