#include "system.h"

#include "ggml-backend.h"
#include "h2o.h"
#include "llama.h"

namespace addon {

static const char * type_name(enum ggml_backend_dev_type type) {
    switch (type) {
        case GGML_BACKEND_DEVICE_TYPE_CPU:   return "cpu";
        case GGML_BACKEND_DEVICE_TYPE_GPU:   return "gpu";
        case GGML_BACKEND_DEVICE_TYPE_IGPU:  return "igpu";
        case GGML_BACKEND_DEVICE_TYPE_ACCEL: return "accel";
        default:                             return "other";
    }
}

static Napi::Object device_to_js(Napi::Env env, ggml_backend_dev_t dev) {
    size_t n_free  = 0;
    size_t n_total = 0;
    ggml_backend_dev_memory(dev, &n_free, &n_total);

    Napi::Object object = Napi::Object::New(env);
    object.Set("name",        Napi::String::New(env, ggml_backend_dev_name(dev)));
    object.Set("description", Napi::String::New(env, ggml_backend_dev_description(dev)));
    object.Set("type",        Napi::String::New(env, type_name(ggml_backend_dev_type(dev))));
    object.Set("memoryFree",  Napi::Number::New(env, (double) n_free));
    object.Set("memoryTotal", Napi::Number::New(env, (double) n_total));
    return object;
}

static Napi::Object policy_to_js(Napi::Env env, const h2o_policy_traits & policy) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("name",        Napi::String::New(env, policy.name));
    object.Set("about",       Napi::String::New(env, policy.about));
    object.Set("local",       Napi::Number::New(env, policy.n_local));
    object.Set("heavy",       Napi::Number::New(env, policy.n_heavy));
    object.Set("heavyGrows",  Napi::Boolean::New(env, policy.heavy_grows));
    object.Set("denseTail",   Napi::Number::New(env, policy.n_dense_tail));
    object.Set("runsTwoPass", Napi::Boolean::New(env, policy.runs_two_pass));
    object.Set("hasMemory",   Napi::Boolean::New(env, policy.has_memory));
    return object;
}

Napi::Value system_info(const Napi::CallbackInfo & info) {
    const Napi::Env env = info.Env();

    Napi::Array devices = Napi::Array::New(env);
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        devices.Set((uint32_t) i, device_to_js(env, ggml_backend_dev_get(i)));
    }

    Napi::Array policies = Napi::Array::New(env);
    for (int i = 0; const h2o_policy_traits * policy = h2o_get_policy(i); ++i) {
        policies.Set((uint32_t) i, policy_to_js(env, *policy));
    }

    Napi::Object object = Napi::Object::New(env);
    object.Set("features", Napi::String::New(env, llama_print_system_info()));
    object.Set("devices",  devices);
    object.Set("policies", policies);
    return object;
}

} // namespace addon
