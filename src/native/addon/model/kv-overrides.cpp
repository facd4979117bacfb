#include "kv-overrides.h"

#include "runtime/failure.h"
#include "runtime/hash.h"
#include "runtime/values.h"

#include <gguf.h>

#include <algorithm>

namespace addon {

static llama_model_kv_override override_from_js(const Napi::Object & object) {
    llama_model_kv_override o = {};

    const std::string type = get_string(object, "type", "");
    strncpy(o.key, get_string(object, "key", "").c_str(), sizeof(o.key) - 1);

    if (type == "int") {
        o.tag     = LLAMA_KV_OVERRIDE_TYPE_INT;
        o.val_i64 = (int64_t) get_number(object, "value", 0);
    } else if (type == "float") {
        o.tag     = LLAMA_KV_OVERRIDE_TYPE_FLOAT;
        o.val_f64 = get_number(object, "value", 0);
    } else if (type == "bool") {
        o.tag      = LLAMA_KV_OVERRIDE_TYPE_BOOL;
        o.val_bool = get_bool(object, "value", false);
    } else {
        o.tag = LLAMA_KV_OVERRIDE_TYPE_STR;
        strncpy(o.val_str, get_string(object, "value", "").c_str(), sizeof(o.val_str) - 1);
    }
    return o;
}

kv_overrides kv_overrides::from_js(const Napi::Value & value) {
    kv_overrides overrides;
    if (!value.IsArray()) {
        return overrides;
    }
    const Napi::Array array = value.As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); ++i) {
        overrides.list.push_back(override_from_js(array.Get(i).As<Napi::Object>()));
    }
    if (!overrides.list.empty()) {
        overrides.list.emplace_back(); // the end
    }
    return overrides;
}

template <typename T>
static gguf_value scalar(gguf_type type, T number) {
    gguf_value value;
    value.type = type;
    value.bytes.assign((const char *) &number, sizeof(number));
    return value;
}

// as llama.cpp will take it: integers have the 32 bits of its parameters
static gguf_value value_of(const llama_model_kv_override & o) {
    switch (o.tag) {
        case LLAMA_KV_OVERRIDE_TYPE_INT:   return scalar(GGUF_TYPE_UINT32,  (uint32_t) o.val_i64);
        case LLAMA_KV_OVERRIDE_TYPE_FLOAT: return scalar(GGUF_TYPE_FLOAT32, (float) o.val_f64);
        case LLAMA_KV_OVERRIDE_TYPE_BOOL:  return scalar(GGUF_TYPE_BOOL,    (uint8_t) o.val_bool);
        case LLAMA_KV_OVERRIDE_TYPE_STR:   break;
    }
    gguf_value value;
    value.type  = GGUF_TYPE_STRING;
    value.bytes = o.val_str;
    value.ends  = { value.bytes.size() };
    return value;
}

static const char * type_name(const gguf_value & value) {
    switch (value.type) {
        case GGUF_TYPE_STRING:                          return "str";
        case GGUF_TYPE_BOOL:                            return "bool";
        case GGUF_TYPE_FLOAT32: case GGUF_TYPE_FLOAT64: return "float";
        default:                                        return "int";
    }
}

gguf_head kv_overrides::apply(const gguf_head & head) const {
    gguf_head result = head;

    for (const auto & o : list) {
        if (o.key[0] == '\0') {
            break;
        }
        gguf_value         value = value_of(o);
        const gguf_value * old   = head.find(o.key);

        if (old && (old->is_array || strcmp(type_name(*old), type_name(value)) != 0)) {
            throw failure("ERR_H2O_INVALID_ARGUMENT",
                std::string("overrideKv: the file has ") + (old->is_array ? "a list of " : "") + type_name(*old) +
                    " under " + o.key, {{"key", o.key}, {"type", type_name(value)}});
        }
        result.values[o.key] = std::move(value);
    }
    return result;
}

bool kv_overrides::has(const std::string & key) const {
    return std::any_of(list.begin(), list.end(), [&](const auto & o) { return key == o.key; });
}

std::optional<model_finding> kv_overrides::check(const std::string & path, const gguf_head & head) const {
    const auto found = model_check(path, head);
    if (list.empty() || (found && !has(found->key))) {
        return found;
    }
    return model_check(path, apply(head));
}

uint64_t kv_overrides::fingerprint(uint64_t hash) const {
    for (const auto & o : list) {
        hash = hash_bytes(&o, sizeof(o), hash);
    }
    return hash;
}

} // namespace addon
